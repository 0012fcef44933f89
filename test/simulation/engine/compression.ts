import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { Compression } from '../../../shared/storage/blocks/compression.ts';

/** As the product compresses, but without another thread, which would answer at a time of its own. */
export const compressionAtOnce: Compression = {
  compress: async (bytes) =>
    brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
      },
    }),
  decompress: async (bytes) => brotliDecompressSync(bytes),
};
