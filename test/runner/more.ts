/** The variable of the environment by which `npm run test:more` tells its tests. */
export const MORE_VARIABLE = 'DYNABUS_MORE_TESTS';

/** Whether tests do what `npm test` leaves to `npm run test:more`. */
export function isMore(): boolean {
  return process.env[MORE_VARIABLE] !== undefined;
}
