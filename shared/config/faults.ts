import { BrokerError } from '../domain/broker-error.ts';
import { CONFIG_LIMITS } from './config-limits.ts';

/** Collects the faults of a configuration, so that the user learns all of them at once. */
export class Faults {
  readonly #lines: string[] = [];
  #left = 0;

  /** Notes a fault: a whole sentence about what is at a path; '' = the top. */
  add(at: string, sentence: string): void {
    if (this.#lines.length === CONFIG_LIMITS.faults) this.#left++;
    else this.#lines.push(at === '' ? sentence : `${at}: ${sentence}`);
  }

  /** The result of `work`. A refusal, which is a BrokerError, is noted at the path; the result is then undefined. */
  attempt<T>(at: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      this.add(at, error.message);
      return undefined;
    }
  }

  /** As `attempt`, for work that takes time. `place` finds the path in the refusal. */
  async attemptLater<T>(
    place: (error: BrokerError) => string,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      this.add(place(error), error.message);
      return undefined;
    }
  }

  /** How many faults were noted. */
  get count(): number {
    return this.#lines.length + this.#left;
  }

  /** The lines about the faults; the last one may be the number of those left out. */
  get lines(): readonly string[] {
    const more = this.#left === 0 ? [] : [`There are ${this.#left} more faults.`];
    return [...this.#lines, ...more];
  }
}
