/** The variable of the environment that names the built module of the local server. */
export const SERVER_VARIABLE = 'DYNABUS_TEST_SERVER';

/**
 * The arguments of Node that run `local/main.ts`: as it was built for this run of the tests, which
 * starts in half the time, or else as `npm start` does.
 */
export function localServer(): readonly string[] {
  const built = process.env[SERVER_VARIABLE];
  return built === undefined ? ['--import', 'tsx', 'local/main.ts'] : [built];
}
