import type { SurfaceDependencies } from '../../../shared/app/surface-dependencies.ts';
import {
  argumentError,
  BrokerError,
  messageSizeExceeded,
  noMemoryFor,
} from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { MemoryShare } from '../../../shared/domain/budgets/memory-budget.ts';

/** How long the body of a request may be, and how much memory it takes. */
export interface BodyLimit {
  /** The longest body, bytes. */
  readonly bytes: number;
  /** Bytes of memory for each byte of the body, including the copies that handling it makes. */
  readonly weight: number;
  /** Bytes of memory for each byte beyond `BUDGETS.request.largeBytes`. */
  readonly largeWeight: number;
  /** A body longer than this, bytes, is handled in a turn of the event loop of its own. */
  readonly turnBytes: number;
  /** Whether the caller is authorized. If not, only bytes that have arrived are counted as memory. */
  readonly isAuthorized: boolean;
  /** Makes the refusal of a longer body. `bytes` = its Content-Length; without one, the bytes read so far. */
  readonly tooLong: (bytes: number) => BrokerError;
}

type BodyDependencies = Pick<SurfaceDependencies, 'memory' | 'workTurns'>;

/** The limit of a JSON body of at most `bytes`. */
export function jsonLimit(bytes: number): BodyLimit {
  const tooLong = (length: number) =>
    argumentError(
      `The body is ${length} bytes long; the limit is ${bytes}. Send it in several requests.`,
    );
  const { heldPerJsonByte: weight, turnTextBytes: turnBytes } = BUDGETS.request;
  return { bytes, weight, largeWeight: weight, turnBytes, isAuthorized: true, tooLong };
}

/** The limit of a body that is kept as it is, not parsed. */
export function plainLimit(bytes: number, tooLong: BodyLimit['tooLong']): BodyLimit {
  const { heldPerByte: weight, heldPerLargeByte: largeWeight, turnBytes } = BUDGETS.request;
  return { bytes, weight, largeWeight, turnBytes, isAuthorized: true, tooLong };
}

/** The limit of a JSON body that lists sequence numbers. */
export const NAMES_LIMIT = jsonLimit(BUDGETS.request.namesBytes);
/** The limit of a JSON body that settles messages or renews their locks. */
export const SETTLEMENTS_LIMIT = jsonLimit(BUDGETS.request.settlementsBytes);

/** Counts the memory that a request takes beyond its body, until its handler ends. */
export interface BodyAccount {
  /** Counts further bytes of memory. Throws ServiceBusy, MessageSizeExceeded. */
  hold(bytes: number): void;
  /** Notes that the caller is authorized: from now on the memory counts among that of authorized requests. */
  authorize(): void;
}

/**
 * Reads the body of a request, runs `handle` on it, and counts its memory until `handle` ends. Refuses a body
 * that is too long before reading it, or as soon as the read bytes exceed the limit. Throws `limit.tooLong`;
 * ServiceBusy where the process has no memory left, or other requests need it while this body is being read;
 * MessageSizeExceeded where the process never has enough memory for it; ArgumentError where the client
 * disconnects while sending.
 */
export async function withBody<Result>(
  { memory, workTurns }: BodyDependencies,
  request: Request,
  limit: BodyLimit,
  handle: (body: Uint8Array, account: BodyAccount) => Result | Promise<Result>,
): Promise<Result> {
  let evict = () => {};
  const evicted = new Promise<never>((_resolve, reject) => {
    evict = () => reject(noMemoryFor('requests'));
  });
  const share = limit.isAuthorized
    ? memory.open(memory.limit, () => evict())
    : memory.openUnauthorized(limit.bytes * limit.weight, () => evict());
  const reader = new BodyReader(request, limit, memory.limit, (bytes) =>
    hold(memory, share, bytes),
  );
  try {
    const body = await Promise.race([reader.read(), evicted]);
    // Pinned: an operation that has begun is not aborted, since its outcome would be unknown.
    share.pin();
    if (body.byteLength > limit.turnBytes) await workTurns.next(request);
    return await handle(body, {
      hold: (bytes) => hold(memory, share, bytes),
      authorize: () => share.authorize(memory.limit),
    });
  } finally {
    reader.stop();
    share.close();
  }
}

function hold(memory: BodyDependencies['memory'], share: MemoryShare, bytes: number): void {
  if (share.hold(bytes)) return;
  throw share.held + bytes > memory.limit ? neverFits() : noMemoryFor('requests');
}

/** The memory that `bytes` of a body take, bytes. */
function weightOf({ weight, largeWeight }: BodyLimit, bytes: number): number {
  const large = Math.max(0, bytes - BUDGETS.request.largeBytes);
  return (bytes - large) * weight + large * largeWeight;
}

function neverFits(): BrokerError {
  return messageSizeExceeded(
    'The body is longer than the service has memory for. Send less in one request, or give the service more memory.',
  );
}

class BodyReader {
  readonly #request: Request;
  readonly #limit: BodyLimit;
  readonly #memoryBytes: number;
  readonly #hold: (bytes: number) => void;
  #body = new Uint8Array();
  #stream: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `memoryBytes` = the memory of all bodies together; `hold` counts bytes of memory, or throws. */
  constructor(
    request: Request,
    limit: BodyLimit,
    memoryBytes: number,
    hold: (bytes: number) => void,
  ) {
    this.#request = request;
    this.#limit = limit;
    this.#memoryBytes = memoryBytes;
    this.#hold = hold;
  }

  async read(): Promise<Uint8Array> {
    const header = this.#request.headers.get('content-length');
    const announced = header === null ? Number.NaN : Number(header);
    if (announced > this.#limit.bytes) throw this.#limit.tooLong(announced);
    const isLarge = announced > BUDGETS.request.largeBytes;
    if (isLarge && weightOf(this.#limit, announced) > this.#memoryBytes) throw neverFits();
    try {
      // Reading at once is faster, but the chunks, which may be single bytes, go uncounted until the end.
      return this.#limit.isAuthorized && announced <= BUDGETS.request.wholeBytes
        ? await this.#readAtOnce(announced)
        : await this.#readChunks();
    } catch (error) {
      throw this.#isCutOff(error) ? cutOff(error) : error;
    }
  }

  /** Whether the client disconnected, which is not a fault of the service. */
  #isCutOff(error: unknown): boolean {
    if (error instanceof BrokerError) return false;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ECONNRESET' || this.#request.signal.aborted;
  }

  async #readAtOnce(announced: number): Promise<Uint8Array> {
    this.#hold(announced * this.#limit.weight);
    const body = new Uint8Array(await this.#request.arrayBuffer());
    // Behind a gateway nothing else checks a body against its Content-Length.
    if (body.byteLength > announced) {
      if (body.byteLength > this.#limit.bytes) throw this.#limit.tooLong(body.byteLength);
      this.#hold((body.byteLength - announced) * this.#limit.weight);
    }
    return body;
  }

  async #readChunks(): Promise<Uint8Array> {
    this.#stream = this.#request.body?.getReader();
    let length = 0;
    for (;;) {
      const next = await this.#stream?.read();
      const chunk = next?.value;
      if (chunk === undefined) break;
      if (length + chunk.byteLength > this.#limit.bytes) {
        throw this.#limit.tooLong(length + chunk.byteLength);
      }
      this.#hold(weightOf(this.#limit, length + chunk.byteLength) - weightOf(this.#limit, length));
      this.#append(length, chunk);
      length += chunk.byteLength;
    }
    return this.#body.subarray(0, length);
  }

  /** Copies a chunk into one buffer: a small chunk takes a hundred times the memory of its bytes. */
  #append(length: number, chunk: Uint8Array): void {
    const needed = length + chunk.byteLength;
    if (needed > this.#body.byteLength) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#body.byteLength));
      larger.set(this.#body.subarray(0, length));
      this.#body = larger;
    }
    this.#body.set(chunk, length);
  }

  /** Releases the read bytes and cancels the rest of the body. */
  stop(): void {
    this.#body = new Uint8Array();
    void this.#stream?.cancel().catch(() => {});
  }
}

function cutOff(cause: unknown): BrokerError {
  return argumentError('The connection ended before all of the body had come.', cause);
}
