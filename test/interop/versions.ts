import { isMore } from '../runner/more.ts';

/** The versions of the official clients. */
export const STABLE = '7.9.5';
export const BETA = '7.10.0-beta.2';
export type Version = typeof STABLE | typeof BETA;

/**
 * The version with which whole suites run: the stable one in `npm test`, the other one in `npm run
 * test:more`. What only the other one can do, and the least that it must do, is always tried.
 */
export const VERSION_IN_FULL: Version = isMore() ? BETA : STABLE;
