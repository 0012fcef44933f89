/** The environment variable that `npm run test:more` sets for its tests. */
export const MORE_VARIABLE = 'DYNABUS_MORE_TESTS';

/**
 * Whether `npm run test:more` runs, which includes the slower tests and the larger sizes that `npm test` leaves out.
 */
export function isMore(): boolean {
  return process.env[MORE_VARIABLE] !== undefined;
}
