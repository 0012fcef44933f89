import { IncomingMessage } from 'node:http';
import { compact } from '../../amqp/wire/compact.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { PacedRequests } from './paced-requests.ts';

const { aheadBytes: GATHERED_BYTES } = BUDGETS.request;
const NOTHING = Buffer.alloc(0);

/**
 * A request that hands on what comes of its body in one turn of the event loop in few pieces, however
 * small the chunks that its sender made of it: streams take some microseconds and a hundred bytes for
 * each, and lists of those that wait take the square of their number.
 */
export class GatheredRequest extends IncomingMessage {
  #isGathering = false;
  #gathered = NOTHING;
  #length = 0;

  override _read(size: number): void {
    super._read(size);
    // What is read now is still there.
    process.nextTick(() => PacedRequests.bodyWanted(this));
  }

  override push(chunk: Uint8Array | null): boolean {
    if (chunk === null) {
      this.#handOn();
      return super.push(null);
    }
    if (this.#length + chunk.byteLength > GATHERED_BYTES) this.#handOn();
    // The first is not held back: mostly no other one follows.
    if (!this.#isGathering || chunk.byteLength > GATHERED_BYTES) {
      this.#gatherThisTurn();
      return super.push(chunk);
    }
    if (this.#length === 0) this.#gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);
    this.#gathered.set(chunk, this.#length);
    this.#length += chunk.byteLength;
    return this.readableLength < this.readableHighWaterMark;
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
