import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';

const MEGABYTE = 1024 * 1024;
/** What compresses to nothing fills a queue fast: its size counts messages as they were sent. */
const body = Buffer.alloc(99 * MEGABYTE, 'x');

test('#159 a full queue refuses sends with its size and its limit, until something was taken out', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { MaxMessageSizeInKilobytes: '102400' }), 201);
  for (let i = 0; i < 10; i++) expectStatus(await broker.send('q', body), 201);

  const refused = await broker.send('q', body);
  expectStatus(refused, 403);
  assert.match(refused.text, /The maximum entity size has been reached or exceeded for Queue: 'q'/);
  assert.match(
    refused.text,
    /Size of entity in bytes:10\d{8}, Max entity size in bytes:1073741824/,
  );
  assert.match(refused.text, /TrackingId:/);
  assert.equal(refused.headers.get('x-dynabus-error'), 'QuotaExceeded');
  expectStatus(await broker.send('q', 'what still fits'), 201);

  const [first] = await broker.receiveAndDeleteMany('q', 1);
  assert.equal(first?.body.length, body.length);
  expectStatus(await broker.send('q', body), 201);
  expectStatus(await broker.send('q', body), 403);
});
