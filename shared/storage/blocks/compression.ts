import { promisify } from 'node:util';
import {
  type BrotliOptions,
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  brotliDecompressSync,
  constants,
} from 'node:zlib';
import { BUDGETS } from '../../domain/budgets/budgets.ts';

/** Compresses and decompresses stored bytes. */
export interface Compression {
  compress(bytes: Uint8Array): Promise<Uint8Array>;
  decompress(bytes: Uint8Array): Promise<Uint8Array>;
}

/** The highest quality that costs less time than the write units it saves (measured on JSON documents). */
const QUALITY = 5;
/** Smaller inputs are handled synchronously, in less than a millisecond; another thread would cost more. */
const AT_ONCE = { compressBytes: 16 * 1024, decompressedBytes: 128 * 1024 };

const onThread = {
  compress: promisify(brotliCompress),
  decompress: promisify(brotliDecompress),
};

/** Brotli: small inputs synchronously, larger ones on another thread, so that the event loop goes on. */
export const brotli: Compression = {
  compress: async (bytes) => {
    const options = compressing(bytes);
    return bytes.byteLength <= AT_ONCE.compressBytes
      ? brotliCompressSync(bytes, options)
      : await onThread.compress(bytes, options);
  },
  decompress: async (bytes) =>
    decompressedAtOnce(bytes) ??
    (await onThread.decompress(bytes, { maxOutputLength: BUDGETS.stored.decompressedBytes })),
};

/** How bytes are compressed. */
export function compressing(bytes: Uint8Array): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
    },
  };
}

/** Decompresses up to a limit; undefined if the result is larger, which shows only while decompressing. */
function decompressedAtOnce(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.byteLength > AT_ONCE.decompressedBytes) return undefined;
  try {
    return brotliDecompressSync(bytes, { maxOutputLength: AT_ONCE.decompressedBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
}
