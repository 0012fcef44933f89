import type { Allowance } from '../ports/messages.ts';

/** Bounds what the claims of one receive take together: messages, and their size decoded and in the answer, bytes. */
export class SharedAllowance implements Allowance {
  #messages: number;
  #bytes: number;
  #answerBytes: number;
  #taken = 0;

  constructor(messages: number, bytes: number, answerBytes: number) {
    this.#messages = messages;
    this.#bytes = bytes;
    this.#answerBytes = answerBytes;
  }

  /** How many messages may still be taken. */
  get left(): number {
    const hasRoom = this.#bytes > 0 && this.#answerBytes > 0;
    return hasRoom || this.#taken === 0 ? this.#messages : 0;
  }

  /**
   * Takes the bytes of the whole block, even if only some of its messages are allowed. The first block is always
   * allowed, since it fits into an answer alone.
   */
  take(messages: number, bytes: number, answerBytes: number): number {
    const hasRoom = bytes <= this.#bytes && answerBytes <= this.#answerBytes;
    if (this.#taken > 0 && !hasRoom) return 0;
    const allowed = Math.min(messages, this.#messages);
    if (allowed === 0) return 0;
    this.#taken += allowed;
    this.#messages -= allowed;
    this.#bytes -= bytes;
    this.#answerBytes -= answerBytes;
    return allowed;
  }

  giveBack(messages: number, bytes: number, answerBytes: number): void {
    this.#taken -= messages;
    this.#messages += messages;
    this.#bytes += bytes;
    this.#answerBytes += answerBytes;
  }
}
