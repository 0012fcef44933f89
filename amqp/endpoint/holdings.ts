import { AmqpError } from '../wire/wire-error.ts';

const LINKS_MAX = 20_000;
/** Parts of messages whose ends have not come, on all links together. */
const PARTS_BYTES_MAX = 64 * 1024 * 1024;

/** What one connection has us keep, within bounds. */
export class Holdings {
  #links = 0;
  #waitingBytes = 0;
  #partsBytes = 0;

  /** Bytes that wait for the peer to open its windows. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** So many bytes more, or fewer, wait for the peer's windows. */
  waits(bytes: number): void {
    this.#waitingBytes += bytes;
  }

  /** So many bytes more, or fewer, are kept of messages that have not ended. Throws AmqpError. */
  gathered(bytes: number): void {
    this.#partsBytes += bytes;
    if (this.#partsBytes <= PARTS_BYTES_MAX) return;
    throw exceeded('Too much was begun to be sent without being ended.');
  }

  /** There is one link more. Throws AmqpError. */
  linked(): void {
    this.#links++;
    if (this.#links > LINKS_MAX)
      throw exceeded(`A connection has no more than ${LINKS_MAX} links.`);
  }

  /** A link has ended on both sides. */
  unlinked(): void {
    this.#links--;
  }
}

function exceeded(sentence: string): AmqpError {
  return new AmqpError('amqp:resource-limit-exceeded', sentence);
}
