import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { MemoryShare } from '../../shared/domain/memory-budget.ts';
import type { HttpParts } from './parts.ts';

/** How long the body of a request may be, and what it costs to hold. */
export interface BodyLimit {
  /** Bytes of the body. */
  readonly bytes: number;
  /** Bytes of memory for each of them, with the copies that are made of them. */
  readonly weight: number;
  /** The refusal of a body of so many bytes; where they were not announced, of those that came in. */
  readonly tooLong: (bytes: number) => BrokerError;
}

const { chunks: CHUNKS_MAX, chunkBytes: CHUNK_BYTES_MIN } = BUDGETS.request;

type BodyParts = Pick<HttpParts, 'memory' | 'workTurns'>;

/** A limit for a body of JSON. */
export function jsonLimit(bytes: number): BodyLimit {
  const tooLong = (length: number) =>
    new BrokerError(
      'ArgumentError',
      `The body is ${length} bytes long; the limit is ${bytes}. Send it in several requests.`,
      { subCode: '40000' },
    );
  return { bytes, weight: BUDGETS.request.heldPerJsonByte, tooLong };
}

/** JSON that names messages. */
export const NAMES_LIMIT = jsonLimit(BUDGETS.request.namesBytes);
/** JSON that settles messages or renews their locks. */
export const SETTLEMENTS_LIMIT = jsonLimit(BUDGETS.request.settlementsBytes);

/**
 * Reads the body of a request, has it handled, and counts its memory until that is done. What is too
 * long is refused before it is read, or as soon as that shows. Throws the refusal of the limit; and
 * ServiceBusy where the process has no room, or where others need it while this is still being read;
 * and MessageSizeExceeded where it would never have room.
 */
export async function withBody<Result>(
  { memory, workTurns }: BodyParts,
  request: Request,
  limit: BodyLimit,
  handle: (body: Uint8Array) => Result | Promise<Result>,
): Promise<Result> {
  let evict = () => {};
  const evicted = new Promise<never>((_resolve, reject) => {
    evict = () => reject(busy());
  });
  const share = memory.open(limit.bytes * limit.weight, () => evict());
  const reader = new BodyReader(request, limit, (bytes) => hold(memory, share, bytes));
  try {
    const body = await Promise.race([reader.read(), evicted]);
    // What is under way is not ended: nobody would know whether it was done.
    share.pin();
    if (body.byteLength > BUDGETS.request.wholeBytes) await workTurns.next();
    return await handle(body);
  } finally {
    reader.stop();
    share.close();
  }
}

function hold(memory: BodyParts['memory'], share: MemoryShare, bytes: number): void {
  if (share.hold(bytes)) return;
  throw share.held + bytes > memory.limit ? neverFits() : busy();
}

function busy(): BrokerError {
  return new BrokerError(
    'ServiceBusy',
    'The service is busy with as many requests as it has memory for. Wait a moment and try again.',
  );
}

function neverFits(): BrokerError {
  return new BrokerError(
    'MessageSizeExceeded',
    'The body is longer than the service has memory for. Send less in one request, or give the service more memory.',
  );
}

class BodyReader {
  readonly #request: Request;
  readonly #limit: BodyLimit;
  readonly #hold: (bytes: number) => void;
  #body = new Uint8Array();
  #stream: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `hold` counts bytes of memory, or throws. */
  constructor(request: Request, limit: BodyLimit, hold: (bytes: number) => void) {
    this.#request = request;
    this.#limit = limit;
    this.#hold = hold;
  }

  async read(): Promise<Uint8Array> {
    const header = this.#request.headers.get('content-length');
    const announced = header === null ? Number.NaN : Number(header);
    if (announced > this.#limit.bytes) throw this.#limit.tooLong(announced);
    // Faster, but nothing shows before all of it is there.
    return announced <= BUDGETS.request.wholeBytes
      ? await this.#readWhole(announced)
      : await this.#readChunks();
  }

  async #readWhole(announced: number): Promise<Uint8Array> {
    this.#hold(announced * this.#limit.weight);
    const body = new Uint8Array(await this.#request.arrayBuffer());
    // Behind a gateway nothing else holds a request to what it announced.
    if (body.byteLength > announced) {
      if (body.byteLength > this.#limit.bytes) throw this.#limit.tooLong(body.byteLength);
      this.#hold((body.byteLength - announced) * this.#limit.weight);
    }
    return body;
  }

  async #readChunks(): Promise<Uint8Array> {
    this.#stream = this.#request.body?.getReader();
    let length = 0;
    for (let chunks = 1; ; chunks++) {
      const next = await this.#stream?.read();
      if (next?.value === undefined) break;
      const chunk = next.value;
      if (length + chunk.byteLength > this.#limit.bytes) {
        throw this.#limit.tooLong(length + chunk.byteLength);
      }
      if (chunks > CHUNKS_MAX + length / CHUNK_BYTES_MIN) throw tooManyChunks();
      this.#hold(chunk.byteLength * this.#limit.weight);
      this.#append(length, chunk);
      length += chunk.byteLength;
    }
    return this.#body.subarray(0, length);
  }

  /** Copies a chunk: small ones take a hundred times what is in them. */
  #append(length: number, chunk: Uint8Array): void {
    const needed = length + chunk.byteLength;
    if (needed > this.#body.byteLength) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#body.byteLength));
      larger.set(this.#body.subarray(0, length));
      this.#body = larger;
    }
    this.#body.set(chunk, length);
  }

  /** Lets go of what was read. What has not come in is not waited for. */
  stop(): void {
    this.#body = new Uint8Array();
    void this.#stream?.cancel().catch(() => {});
  }
}

function tooManyChunks(): BrokerError {
  return new BrokerError(
    'ArgumentError',
    `The body comes in chunks that are too small. Send it in chunks of ${CHUNK_BYTES_MIN} bytes and more.`,
    { subCode: '40000' },
  );
}
