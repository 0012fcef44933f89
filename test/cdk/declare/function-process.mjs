import { createRequire } from 'node:module';

/**
 * What Lambda is to a function, in a process of its own: `node function-process.mjs INDEX_JS [MS]`. Loads the bundle,
 * takes events by IPC, and tells when the handler has ended. Timers of exactly MS are over at once.
 */

const [file, skippedMs] = process.argv.slice(2);
const wait = globalThis.setTimeout;
globalThis.setTimeout = Object.assign(
  (work, ms, ...args) => wait(work, String(ms) === skippedMs ? 0 : ms, ...args),
  wait,
);
const { handler } = createRequire(import.meta.url)(file);

process.on('disconnect', () => process.exit());
process.on('message', async (event) => {
  try {
    await handler(event);
    process.send({});
  } catch (error) {
    process.send({ error: String(error) });
  }
});
