/** The environment variable with the path of the built local server. */
export const SERVER_VARIABLE = 'DYNABUS_TEST_SERVER';

/**
 * The arguments of Node that run `local/main.ts`: the build of this test run, which starts in half the
 * time, or without a build as `npm start` does.
 */
export function localServer(): readonly string[] {
  const built = process.env[SERVER_VARIABLE];
  return built === undefined ? ['--import', 'tsx', 'local/main.ts'] : [built];
}
