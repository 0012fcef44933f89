import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { QUEUE_DEFAULTS } from '../../shared/domain/descriptions.ts';
import { countedBody } from '../support/counted-body.ts';
import { fakeEntity, findableEntities, startApp } from '../support/http-fixture.ts';

const { chunks: CHUNKS, chunkBytes: CHUNK_BYTES } = BUDGETS.request;
const entities = findableEntities({
  q: fakeEntity('q', { ...QUEUE_DEFAULTS, maxMessageSizeInKilobytes: 100 * 1024 }),
});

test('row 7: a body in chunks of a byte is refused after so many of them', async () => {
  const { call } = startApp({ entities });
  const body = countedBody({ piece: 1 });
  const init = { body: body.stream, duplex: 'half' } as RequestInit;
  const response = await call('POST', '/q/messages', init);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /chunks that are too small/);
  assert.ok(body.read() >= CHUNKS && body.read() < CHUNKS + 200, `${body.read()} bytes were read`);
});

test('row 7: a long body in chunks of a fair size comes in whole', async () => {
  const { call, broker } = startApp({ entities });
  const pieces = 2 * CHUNKS;
  let left = pieces;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (left-- > 0) controller.enqueue(new Uint8Array(2 * CHUNK_BYTES).fill(left % 251));
      else controller.close();
    },
  });
  const init = { body: stream, duplex: 'half' } as RequestInit;
  assert.equal((await call('POST', '/q/messages', init)).status, 201);
  const body = broker.waiting('q')[0]?.message.body;
  assert.equal(body?.byteLength, pieces * 2 * CHUNK_BYTES);
  assert.deepEqual([body?.at(0), body?.at(-1)], [(pieces - 1) % 251, 0]);
});
