/** Reasons why a test of test/spec is left out where two processes answer in turns. */

/** About messages that come free in front of others. */
export const PUT_BACK =
  'A process that has a scan hint hands out what lies behind it first, and finds what another process put back in front with its next look.';

/** About scheduled messages that come due while others are active. */
export const CAME_DUE =
  'A process that does not know the next due time activates and scans at once: its answer may leave what came due to the next receive.';
