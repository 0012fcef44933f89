/** The environment variable with the path of the built command line. */
export const SERVER_VARIABLE = 'DYNABUS_TEST_SERVER';

/**
 * The arguments of Node that run the command line `local/main.ts`: the build of this test run, which starts in half the
 * time, or without a build the source.
 */
export function commandLine(): readonly string[] {
  const built = process.env[SERVER_VARIABLE];
  return built === undefined ? ['--import', 'tsx', 'local/main.ts'] : [built];
}

/** The arguments of Node that start a local server, as `npm start` does. */
export function localServer(): readonly string[] {
  return [...commandLine(), 'start'];
}
