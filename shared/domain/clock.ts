/** Tells the time in epoch milliseconds. Handed in everywhere, so that tests and users can move it. */
export interface Clock {
  now(): number;
}

/** Fills with random bytes. Handed in, so that a test can repeat a run from its seed. */
export interface RandomSource {
  bytes(count: number): Uint8Array;
}
