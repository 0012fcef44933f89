import { createReadStream } from 'node:fs';
import { fileFault, fileFaultCode } from '../file-faults.ts';
import { UsageError } from '../startup-error.ts';
import { sizeText } from './table.ts';

/** A line of a file or of the input. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

const LINE_FEED = 0x0a;
/** More than the service takes in one request. */
const LINE_BYTES_MAX = 9 * 1024 * 1024;
/** The largest message that a namespace may take. */
const WHOLE_BYTES_MAX = 100 * 1024 * 1024;

/**
 * Splits bytes at line feeds only, and leaves out empty lines: other characters that some programs take for the end of
 * a line may be in a JSON text. Throws UsageError for a line that is too long or not UTF-8.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line> {
  let number = 0;
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  const take = (last: Uint8Array): Line => {
    number++;
    const whole = Buffer.concat([...pieces, last]);
    pieces = [];
    bytes = 0;
    return { number, text: decode(whole, number).trim() };
  };
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk as Uint8Array);
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      const line = take(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      if (line.text !== '') yield line;
    }
    bytes += rest.length;
    if (bytes > LINE_BYTES_MAX) {
      throw new UsageError(`Line ${number + 1} is longer than ${sizeText(LINE_BYTES_MAX)}.`);
    }
    pieces.push(rest);
  }
  const last = take(new Uint8Array());
  if (last.text !== '') yield last;
}

function decode(bytes: Uint8Array, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError(`Line ${number} is not UTF-8.`, { cause });
  }
}

/** The bytes of a file, piece by piece. Throws UsageError if it cannot be read. */
export async function* readChunks(file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(file)) yield chunk as Uint8Array;
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** The pieces of an input, until the user ends the command: then it throws the reason of the signal. */
export async function* untilAborted(
  chunks: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string> {
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
  // It rejects also when nobody waits for it any more.
  aborted.catch(() => {});
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([iterator.next(), aborted]);
    if (next.done) return;
    yield next.value;
  }
}

/**
 * All bytes of an input. Throws UsageError for more than the largest message of the service. `what` = the input in the
 * sentence: `The input`.
 */
export async function readWhole(
  chunks: AsyncIterable<Uint8Array | string>,
  what: string,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk as Uint8Array);
    bytes += piece.length;
    if (bytes > WHOLE_BYTES_MAX) {
      throw new UsageError(
        `${what} is larger than ${sizeText(WHOLE_BYTES_MAX)}, the most that is read.`,
      );
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** All bytes of a file. Throws UsageError if it cannot be read, or is larger than any message. */
export function readWholeFile(file: string): Promise<Buffer> {
  return readWhole(readChunks(file), `The file ${file}`);
}

/** A JSON file. Throws UsageError if it cannot be read or is no JSON. */
export async function readJsonFile(file: string): Promise<unknown> {
  const text = (await readWholeFile(file)).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`The file ${file} is not valid JSON.`, { cause });
  }
}

function unreadable(file: string, cause: unknown): UsageError {
  const isMissing = fileFaultCode(cause) === 'ENOENT';
  const why = isMissing ? 'does not exist' : `cannot be read: ${fileFault(cause)}`;
  return new UsageError(`The file ${file} ${why}.`, { cause });
}
