import type { RandomSource } from '../../domain/clock.ts';

/** How wide a choice may become, in requests: a claim is lost in at most a few of as many places. */
const WIDTH_MAX = 64;
/** Losing a race widens the choice at once; each success narrows it a little. */
const WIDEN = 4;
const NARROW = 0.85;
const LOGS_MAX = 10_000;

/**
 * How far receivers of several processes keep out of each other's way, per log. A lone receiver takes what
 * comes first. One that lost a race chooses at random among the first few places, and among more where it
 * loses again; while it does not lose, it comes back to the front.
 */
export class Spread {
  readonly #widths = new Map<string, number>();

  /** Among how many places to choose, each of as many messages as are asked for; 1 = the first. */
  widthOf(log: string): number {
    return Math.floor(this.#widths.get(log) ?? 1);
  }

  /** A claim got nothing, because others were faster. */
  lost(log: string): void {
    const width = this.#widths.get(log) ?? 1;
    if (this.#widths.size >= LOGS_MAX) this.#widths.clear();
    this.#widths.set(log, Math.min(WIDTH_MAX, width * WIDEN));
  }

  /** A claim got something. */
  won(log: string): void {
    const width = (this.#widths.get(log) ?? 1) * NARROW;
    if (width > 1) this.#widths.set(log, width);
    else this.#widths.delete(log);
  }
}

/** A random whole number from 0 to `below` - 1. */
export function randomBelow(random: RandomSource, below: number): number {
  const [high = 0, low = 0] = random.bytes(2);
  return (high * 256 + low) % below;
}
