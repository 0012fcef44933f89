import { IncomingMessage } from 'node:http';
import { compact } from '../../amqp/wire/compact.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { PacedRequests } from './paced-requests.ts';

const { aheadBytes: GATHERED_BYTES, discardedBytes, discardedMs } = BUDGETS.request;
const NOTHING = Buffer.alloc(0);

/**
 * A request that joins the chunks of its body that arrive in one turn of the event loop, however small its sender made
 * them. A stream takes some microseconds and a hundred bytes for each chunk, and its list of waiting chunks takes time
 * that grows with the square of their number.
 */
export class GatheredRequest extends IncomingMessage {
  #isGathering = false;
  #gathered = NOTHING;
  #length = 0;

  override _read(size: number): void {
    super._read(size);
    // Data that was read already is still in the stream.
    process.nextTick(() => PacedRequests.bodyWanted(this));
  }

  override push(chunk: Uint8Array | null): boolean {
    if (chunk === null) {
      this.#handOn();
      return super.push(null);
    }
    if (this.#length + chunk.byteLength > GATHERED_BYTES) this.#handOn();
    // The first chunk is not delayed, since usually no other follows.
    if (!this.#isGathering || chunk.byteLength > GATHERED_BYTES) {
      this.#gatherThisTurn();
      return super.push(chunk);
    }
    if (this.#length === 0) this.#gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);
    this.#gathered.set(chunk, this.#length);
    this.#length += chunk.byteLength;
    return this.readableLength < this.readableHighWaterMark;
  }

  /**
   * Discards the rest of a body that the app refused without reading it all, so that the connection goes on with the
   * client's next request. If the rest is too long or takes too long, the connection is closed.
   */
  discardRest(): void {
    if (this.readableEnded) return;
    this.removeAllListeners('data');
    this.resume();
    // Most requests have no body, or all of it is here.
    if (this.complete) return;
    // The adapter closes the connection half a second after the answer, unless it takes the request for destroyed.
    Object.defineProperty(this, 'destroyed', { value: true, writable: true });
    const close = () => this.socket.destroySoon();
    const timer = setTimeout(close, discardedMs).unref();
    for (const event of ['end', 'close']) this.once(event, () => clearTimeout(timer));
    let bytes = 0;
    this.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > discardedBytes) close();
    });
  }

  #gatherThisTurn(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    setImmediate(() => {
      this.#isGathering = false;
      this.#handOn();
    });
  }

  #handOn(): void {
    if (this.#length === 0) return;
    const gathered = this.#gathered.subarray(0, this.#length);
    this.#gathered = NOTHING;
    this.#length = 0;
    super.push(compact(gathered));
  }
}
