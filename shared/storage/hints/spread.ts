import { BoundedMap } from '../../domain/bounded-map.ts';
import type { RandomSource } from '../../domain/clock.ts';

/** The most groups of messages to choose among. */
const WIDTH_MAX = 64;
/** A lost race widens the choice at once; each success narrows it a little. */
const WIDEN = 4;
const NARROW = 0.85;
const LOGS_MAX = 10_000;

/**
 * Keeps receivers of several processes out of each other's way, per log. A receiver that never loses a race takes the
 * first messages. After a lost race it chooses at random among the first few groups of messages, and among more after
 * each further loss; with each success it moves back to the front.
 */
export class Spread {
  readonly #widths = new BoundedMap<string, number>(LOGS_MAX);

  /** Among how many groups, each of as many messages as asked for, to choose; 1 = always the first. */
  widthOf(log: string): number {
    return Math.floor(this.#widths.get(log) ?? 1);
  }

  /** Notes a claim that got nothing because other receivers were faster. */
  lost(log: string): void {
    const width = this.#widths.get(log) ?? 1;
    this.#widths.set(log, Math.min(WIDTH_MAX, width * WIDEN));
  }

  /** Notes a claim that got messages. */
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
