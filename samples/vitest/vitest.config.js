/** The first namespace of a run waits for the engine, which takes seconds, or longer on a busy machine. */
export default { test: { hookTimeout: 60_000 } };
