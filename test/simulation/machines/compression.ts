import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { Compression } from '../../../shared/storage/blocks/compression.ts';

/** Compresses as the product does, but without a second thread, whose timing would not be repeatable. */
export const synchronousCompression: Compression = {
  compress: async (bytes) =>
    brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
      },
    }),
  decompress: async (bytes) => brotliDecompressSync(bytes),
};
