/** The current time in epoch ms. It is injected everywhere, so that tests and users can move it. */
export interface Clock {
  now(): number;
}

/** Makes random bytes. It is injected, so that a test can repeat a run from its seed. */
export interface RandomSource {
  bytes(count: number): Uint8Array;
}
