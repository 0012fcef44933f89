import type { RateLeft } from './ports.ts';

/** The messages that a consumer may push now, at an average rate, with at most a second's worth at once. */
export class MessageRate {
  #left: RateLeft;

  /** `left` = what the worker before has left. */
  constructor(left: RateLeft) {
    this.#left = left;
  }

  /** How long until the next message may be pushed, ms; 0 = it may be. */
  waitMs(perSecond: number | undefined, now: number): number {
    if (perSecond === undefined || this.#available(perSecond, now) >= 1) return 0;
    return Math.max(1, Math.ceil(((1 - this.#left.messages) / perSecond) * 1000));
  }

  /** Takes up to `most` messages; returns how many. Give back those that are not pushed. */
  take(most: number, perSecond: number | undefined, now: number): number {
    if (perSecond === undefined) return most;
    const taken = Math.min(most, this.#available(perSecond, now));
    this.#add(-taken);
    return taken;
  }

  /** Gives messages back that were taken and are not pushed. */
  giveBack(messages: number): void {
    this.#add(messages);
  }

  #available(perSecond: number, now: number): number {
    const { messages, at } = this.#left;
    const grown = messages + (Math.max(0, now - at) / 1000) * perSecond;
    this.#left = { messages: Math.min(grown, Math.max(1, perSecond)), at: now };
    return Math.max(0, Math.floor(this.#left.messages + ROUNDING));
  }

  #add(messages: number): void {
    this.#left = { ...this.#left, messages: this.#left.messages + messages };
  }

  /** What is left for the next worker. */
  get left(): RateLeft {
    return this.#left;
  }
}

/** Sums of fractions of a message may fall short of a whole one by so little. */
const ROUNDING = 1e-9;
