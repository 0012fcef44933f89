import type { SurfaceDependencies } from '../../../shared/app/surface-dependencies.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import type { MemoryShare } from '../../../shared/domain/budgets/memory-budget.ts';
import { badRequest } from '../format/bad-request.ts';

/** How long the body of a request may be, and what it costs to hold. */
export interface BodyLimit {
  /** Bytes of the body. */
  readonly bytes: number;
  /** Bytes of memory for each of them, with the copies that are made of them. */
  readonly weight: number;
  /** The same for each byte beyond `BUDGETS.request.largeBytes`. */
  readonly largeWeight: number;
  /** A longer body is read in a turn of its own. */
  readonly turnBytes: number;
  /** Whether the right to send such a body is proved; if not, nothing is held that has not come in. */
  readonly isProved: boolean;
  /** The refusal of a body of so many bytes; where they were not announced, of those that came in. */
  readonly tooLong: (bytes: number) => BrokerError;
}

type BodyDependencies = Pick<SurfaceDependencies, 'memory' | 'workTurns'>;

/** A limit for a body of JSON. */
export function jsonLimit(bytes: number): BodyLimit {
  const tooLong = (length: number) =>
    badRequest(
      `The body is ${length} bytes long; the limit is ${bytes}. Send it in several requests.`,
    );
  const { heldPerJsonByte: weight, turnTextBytes: turnBytes } = BUDGETS.request;
  return { bytes, weight, largeWeight: weight, turnBytes, isProved: true, tooLong };
}

/** A limit for a body that is kept as it is. */
export function plainLimit(bytes: number, tooLong: BodyLimit['tooLong']): BodyLimit {
  const { heldPerByte: weight, heldPerLargeByte: largeWeight, turnBytes } = BUDGETS.request;
  return { bytes, weight, largeWeight, turnBytes, isProved: true, tooLong };
}

/** JSON that names messages. */
export const NAMES_LIMIT = jsonLimit(BUDGETS.request.namesBytes);
/** JSON that settles messages or renews their locks. */
export const SETTLEMENTS_LIMIT = jsonLimit(BUDGETS.request.settlementsBytes);

/** What a request holds beside its body, until it is handled. */
export interface BodyAccount {
  /** Holds so many bytes more. Throws ServiceBusy, MessageSizeExceeded. */
  hold(bytes: number): void;
  /** A right is proved: from now on this counts among requests that have one. */
  prove(): void;
}

/**
 * Reads the body of a request, has it handled, and counts its memory until that is done. What is too
 * long is refused before it is read, or as soon as that shows. Throws the refusal of the limit; and
 * ServiceBusy where the process has no room, or where others need it while this is still being read;
 * and MessageSizeExceeded where it would never have room.
 */
export async function withBody<Result>(
  { memory, workTurns }: BodyDependencies,
  request: Request,
  limit: BodyLimit,
  handle: (body: Uint8Array, account: BodyAccount) => Result | Promise<Result>,
): Promise<Result> {
  let evict = () => {};
  const evicted = new Promise<never>((_resolve, reject) => {
    evict = () => reject(busy());
  });
  const share = limit.isProved
    ? memory.open(memory.limit, () => evict())
    : memory.openBeforeRight(limit.bytes * limit.weight, () => evict());
  const reader = new BodyReader(request, limit, memory.limit, (bytes) =>
    hold(memory, share, bytes),
  );
  try {
    const body = await Promise.race([reader.read(), evicted]);
    // What is under way is not ended: nobody would know whether it was done.
    share.pin();
    if (body.byteLength > limit.turnBytes) await workTurns.next(request);
    return await handle(body, {
      hold: (bytes) => hold(memory, share, bytes),
      prove: () => share.prove(memory.limit),
    });
  } finally {
    reader.stop();
    share.close();
  }
}

function hold(memory: BodyDependencies['memory'], share: MemoryShare, bytes: number): void {
  if (share.hold(bytes)) return;
  throw share.held + bytes > memory.limit ? neverFits() : busy();
}

/** Memory that so many bytes of a body take. */
function weightOf({ weight, largeWeight }: BodyLimit, bytes: number): number {
  const large = Math.max(0, bytes - BUDGETS.request.largeBytes);
  return (bytes - large) * weight + large * largeWeight;
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
  readonly #memoryBytes: number;
  readonly #hold: (bytes: number) => void;
  #body = new Uint8Array();
  #stream: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** `memoryBytes` = what all bodies may take; `hold` counts bytes of memory, or throws. */
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
      // Faster, but nothing shows before all of it is there, and each byte may have come alone.
      return this.#limit.isProved && announced <= BUDGETS.request.wholeBytes
        ? await this.#readWhole(announced)
        : await this.#readChunks();
    } catch (error) {
      throw this.#isCutOff(error) ? cutOff(error) : error;
    }
  }

  /** Whether the client went away, which is no fault of ours. */
  #isCutOff(error: unknown): boolean {
    if (error instanceof BrokerError) return false;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ECONNRESET' || this.#request.signal.aborted;
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

function cutOff(cause: unknown): BrokerError {
  return badRequest('The connection ended before all of the body had come.', cause);
}
