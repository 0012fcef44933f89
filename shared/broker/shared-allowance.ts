import type { Allowance } from './ports.ts';

/** What the claims of one receive take together: no more messages, and no more bytes, than it may. */
export class SharedAllowance implements Allowance {
  #messages: number;
  #bytes: number;
  #isTouched = false;

  constructor(messages: number, bytes: number) {
    this.#messages = messages;
    this.#bytes = bytes;
  }

  /** How many messages may still be taken. */
  get left(): number {
    return this.#bytes > 0 || !this.#isTouched ? this.#messages : 0;
  }

  /** The bytes of a block count as a whole; the very first one is allowed whatever its size. */
  take(messages: number, bytes: number): number {
    if (this.#isTouched && bytes > this.#bytes) return 0;
    const allowed = Math.min(messages, this.#messages);
    if (allowed === 0) return 0;
    this.#isTouched = true;
    this.#messages -= allowed;
    this.#bytes -= bytes;
    return allowed;
  }

  giveBack(messages: number): void {
    this.#messages += messages;
  }
}
