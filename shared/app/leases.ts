/**
 * How long an entity may be used after it was read, ms. A change of an entity answers a little later than this, so
 * a long lease saves reads, and a short one lets changes answer soon. All processes of a namespace use the same
 * length (docs/decisions/0002).
 */
export const LEASE_MS = {
  /** Reads cost money, and changes of entities are rare. */
  deployed: 2000,
  /** Reads are free, and tests create and purge entities all the time. */
  local: 50,
  /** Each test makes entities, and resets them, which waits for the end of leases; it sends few messages. */
  testRun: 5,
} as const;

/**
 * When all leases that run now have ended by every clock, ms from now: a tenth more than a lease, since the clocks of
 * machines run at slightly different speeds.
 */
export function leaseEndMs(leaseMs: number): number {
  return leaseMs + leaseMs / 10;
}
