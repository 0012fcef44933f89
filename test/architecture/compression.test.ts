import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, sourceFiles } from './repository.ts';

/** The one file of the product that may compress or decompress on its own thread: only what is small. */
const AT_ONCE = 'shared/storage/blocks/compression.ts';

const PRODUCT = /^(amqp|gateway|lambdas|local|server|shared)\//;

test('row 22: nothing but a little is compressed or decompressed on the thread that serves everybody', () => {
  const users = sourceFiles().filter(
    (path) => PRODUCT.test(path) && /['"](?:node:)?zlib['"]/.test(readText(path)),
  );
  assert.deepEqual(users, [AT_ONCE]);
  const calls = readText(AT_ONCE).match(/\b\w+Sync\(.*/g) ?? [];
  assert.deepEqual(calls, [
    'brotliCompressSync(bytes, options)',
    'brotliDecompressSync(bytes, { maxOutputLength: AT_ONCE.decompressedBytes });',
  ]);
});
