import type { BenchClient } from '../http-client.ts';

/** A receiver that has received nothing for longer fails, unless others still complete messages. */
const STANDSTILL_MS_MAX = 60_000;

/** Receivers that empty one queue together, each through its own process; times are monotonic ms. */
export class CompetingReceivers {
  readonly #queue: string;
  readonly #messages: number;
  readonly #begunAt = performance.now();
  /** How often each message was received, by its sequence number. */
  readonly #handedOut = new Map<string, number>();
  /** The times of empty answers while messages were free. */
  readonly #empty: number[] = [];
  readonly #busy: number[] = [];
  #receives = 0;
  #underWay = 0;
  #lastClaimAt = 0;
  #completed = 0;
  #completedAt = 0;

  constructor(queue: string, messages: number) {
    this.#queue = queue;
    this.#messages = messages;
  }

  /** Locks and completes one message after the other until all are completed. */
  async receive(http: BenchClient): Promise<void> {
    const path = `/${this.#queue}/messages/head?timeout=0`;
    let movedAt = performance.now();
    while (this.#completed < this.#messages) {
      this.#underWay++;
      const { status, location } = await http.ask('POST', path);
      this.#underWay--;
      const now = performance.now();
      this.#receives++;
      if (status === 201 && location !== undefined) {
        movedAt = now;
        this.#note(location, now);
        await this.#complete(http, new URL(location).pathname);
      } else if (status === 204 && this.#isAnyFree()) this.#empty.push(now);
      else if (status === 204) this.#receives--;
      else if (status === 503) this.#busy.push(now);
      else throw new Error(`A receive answered ${status}.`);
      if (now - movedAt > STANDSTILL_MS_MAX && now - this.#completedAt > STANDSTILL_MS_MAX) {
        throw new Error(`${this.#messages - this.#completed} messages are missing.`);
      }
    }
  }

  /** Whether there are more messages than receives under way may have claimed already. */
  #isAnyFree(): boolean {
    return this.#messages - this.#handedOut.size > this.#underWay;
  }

  #note(location: string, now: number): void {
    const number = new URL(location).pathname.split('/').at(-2) ?? '';
    const times = this.#handedOut.get(number) ?? 0;
    if (times === 0) this.#lastClaimAt = now;
    this.#handedOut.set(number, times + 1);
  }

  async #complete(http: BenchClient, lock: string): Promise<void> {
    for (;;) {
      const { status } = await http.ask('DELETE', lock);
      if (status === 503) continue;
      if (status === 200) {
        this.#completed++;
        this.#completedAt = performance.now();
      }
      // A lost lock means that the message was received twice, which the result shows.
      else if (status !== 404) throw new Error(`A completion answered ${status}.`);
      return;
    }
  }

  /** The result, after all receivers have ended. */
  result() {
    const late = [...this.#empty, ...this.#busy].filter((at) => at > this.#lastClaimAt).length;
    const receives = this.#receives - late;
    const share = (answers: readonly number[]) =>
      answers.filter((at) => at <= this.#lastClaimAt).length / receives;
    const seconds = (this.#completedAt - this.#begunAt) / 1000;
    return {
      perSecond: this.#messages / seconds,
      emptyShare: share(this.#empty),
      busyShare: share(this.#busy),
      seenTwice: [...this.#handedOut.values()].filter((times) => times > 1).length,
    };
  }
}
