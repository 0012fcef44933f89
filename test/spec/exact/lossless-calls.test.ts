import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readExact, requestExact, tokensOf, typedJson } from '../../support/exact-messages.ts';
import { properties } from '../../support/message-arbitraries.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptSession, listSessions } from '../../support/test-session.ts';
import { startQueue } from '../queues/queue.ts';

/** What a client of AMQP needs of the broker arrives over HTTP without a loss. */

const RECEIVE = 'q/messages/head?timeout=0';

test('properties of every type that an abandon sets are received as they were set', async (t) => {
  const broker = await startQueue(t, { MaxDeliveryCount: '1000' }, 'a');
  let known: object = {};
  await fc.assert(
    fc.asyncProperty(properties, async (changed) => {
      const locked = readExact(await requestExact(broker, 'POST', RECEIVE));
      assert.deepEqual(locked.messages[0]?.message.properties, known);
      const [lockToken = ''] = tokensOf(locked);
      const body = `{"settlements":[{"lockToken":"${lockToken}","outcome":"abandon","properties":${typedJson(changed)}}]}`;
      expectStatus(await broker.request('POST', 'q/messages/$settle', { body }), 200);
      known = { ...known, ...changed };
    }),
    { numRuns: 40 },
  );
});

test('a session state of no bytes is one, and any byte is kept', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
  const { lock } = await acceptSession(broker, 'q', 's');
  const path = `q/sessions/$state?sessionId=s&sessionLock=${lock}`;
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  for (const [state, status] of [
    [undefined, 204],
    [new Uint8Array(), 200],
    [bytes, 200],
    [undefined, 204],
  ] as const) {
    const change = state === undefined ? 'DELETE' : 'PUT';
    const options = state === undefined ? {} : { body: state };
    expectStatus(await broker.request(change, path, options), 200);
    const answer = await broker.request('GET', path);
    assert.equal(answer.status, status);
    assert.deepEqual(Buffer.from(answer.bytes), Buffer.from(state ?? []));
  }
});

test('sessions are listed by the millisecond after which their state was set', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
  for (const id of ['a', 'b']) {
    broker.clock.advance({ ms: 1 });
    const { lock } = await acceptSession(broker, 'q', id);
    const path = `q/sessions/$state?sessionId=${id}&sessionLock=${lock}`;
    expectStatus(await broker.request('PUT', path, { body: 'state' }), 200);
  }
  const after = (ms: number) =>
    listSessions(broker, 'q', { updatedAfter: new Date(broker.clock.now() + ms).toISOString() });
  assert.deepEqual(await after(-2), ['a', 'b']);
  assert.deepEqual(await after(-1), ['b']);
  assert.deepEqual(await after(0), []);
  const first = '0001-01-01T00:00:00.000Z';
  assert.deepEqual(await listSessions(broker, 'q', { updatedAfter: first }), ['a', 'b']);
});
