import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, sourceFiles } from './repository.ts';

/** The one file of the product that may compress or decompress on its own thread: only what is small. */
const AT_ONCE = 'shared/storage/blocks/compression.ts';

/** Unpacks the files of the web page, once each, for clients that take none that are compressed. */
const PAGE = 'explorer/build/page-files.ts';
/** Runs when the page is built. */
const BUILD = 'explorer/build/bundle-page.ts';

const PRODUCT = /^(amqp|explorer|gateway|lambdas|local|server|shared)\//;

test('row 22: nothing but a little is compressed or decompressed on the thread that serves everybody', () => {
  const users = sourceFiles().filter(
    (path) => PRODUCT.test(path) && /['"](?:node:)?zlib['"]/.test(readText(path)),
  );
  assert.deepEqual(users, [BUILD, PAGE, AT_ONCE]);
  const calls = readText(AT_ONCE).match(/\b\w+Sync\(.*/g) ?? [];
  assert.deepEqual(calls, [
    'brotliCompressSync(bytes, options)',
    'brotliDecompressSync(bytes, { maxOutputLength: AT_ONCE.decompressedBytes });',
  ]);
});
