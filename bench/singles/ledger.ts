import { standardBodies } from '../bodies.ts';
import type { ExpectedMessages } from './queue-clients.ts';

/** Where a body has its number: the value of the first property, `{"id":"…"`. */
const NUMBER = { start: 7, end: 23 } as const;

/** The messages of one measurement. Each has a body of 200 bytes with a number, so that each is known again. */
export class Ledger implements ExpectedMessages {
  readonly #bodies = standardBodies()[0]?.bodies ?? [];
  readonly #left = new Set<number>();
  #made = 0;
  #sent = 0;
  #sought = 0;
  #completed = 0;
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  /** The bodies of further messages. */
  next(count: number): readonly Buffer[] {
    return Array.from({ length: count }, () => {
      const number = this.#made++;
      const body = Buffer.from(this.#bodies[number % this.#bodies.length] ?? '');
      body.write(number.toString(16).padStart(NUMBER.end - NUMBER.start, '0'), NUMBER.start);
      this.#left.add(number);
      return body;
    });
  }

  /** The broker has confirmed `count` messages. */
  confirm(count: number): void {
    this.#sent += count;
  }

  /** The number of messages of which a body was made. */
  get made(): number {
    return this.#made;
  }

  get sent(): number {
    return this.#sent;
  }

  get completedCount(): number {
    return this.#completed;
  }

  /** Resolves when every message is completed. Rejects when receiving fails. */
  allCompleted(): Promise<void> {
    if (this.#left.size === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  seek(most: number): number {
    const count = Math.max(0, Math.min(most, this.#sent - this.#sought));
    this.#sought += count;
    return count;
  }

  sought(sought: number, received: number): void {
    this.#sought -= sought - received;
  }

  completed(body: Uint8Array | string): void {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('latin1');
    const number = Number.parseInt(text.slice(NUMBER.start, NUMBER.end), 16);
    if (!this.#left.delete(number)) {
      throw new Error(`A message was not sent, or was completed twice: ${text}`);
    }
    this.#completed++;
    if (this.#left.size === 0) this.#resolve();
  }

  failed(error: unknown): void {
    this.#reject(error);
  }
}
