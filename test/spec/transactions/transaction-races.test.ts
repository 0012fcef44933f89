import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type InterposingClient, interposingClient } from '../../support/interposing-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies, settlementOf } from '../queues/queue.ts';
import { commit, refusalOf, sending, settling, transact } from './transaction.ts';

/** Changes by other processes after a transaction has read the stored state and before it writes. */

interface Race {
  readonly slow: TestBroker;
  readonly quick: TestBroker;
  readonly held: readonly Received[];
  readonly meanwhile: InterposingClient['beforeNextTransaction'];
}

/** Two processes, and three locked messages of one block. */
async function startRace(t: TestContext): Promise<Race> {
  const { client, beforeNextTransaction } = interposingClient();
  t.after(() => client.destroy());
  const slow = await startBroker(t, { client });
  const quick = await startBroker(t, { beside: slow });
  expectStatus(await slow.createQueue('q', { LockDuration: 'PT30S' }), 201);
  const batch = ['a', 'b', 'c'].map((Body) => ({ Body }));
  expectStatus(await slow.sendBatch('q', batch), 201);
  const held = await slow.peekLockMany('q', 3);
  return { slow, quick, held, meanwhile: beforeNextTransaction };
}

test('#129 a transaction that loses a lock before its write is refused, and the answer names the operation', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a, b] = held;
  assert.ok(a && b);
  meanwhile(async () => {
    await quick.settle('q', [settlementOf(b, 'complete')]);
  });
  const answer = await transact(slow, [
    sending('q', 'new'),
    settling('complete', 'q', a),
    settling('deadLetter', 'q', b),
  ]);
  assert.equal(answer.status, 404, answer.text);
  const { code, operation } = refusalOf(answer);
  assert.deepEqual([code, operation], ['MessageLockLost', 2]);
  assert.deepEqual(bodies(await slow.peek('q')), ['a', 'c']);
  await commit(slow, [settling('complete', 'q', a)]);
});

test('a transaction succeeds although other messages of its block are settled before its write', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a, b, c] = held;
  assert.ok(a && b && c);
  const stored = new StoredItems(slow);
  t.after(() => stored.close());
  const id = await stored.idOf('q');
  meanwhile(async () => {
    await quick.settle('q', [settlementOf(b, 'complete'), settlementOf(c, 'deadLetter')]);
  });
  await commit(slow, [settling('complete', 'q', a), sending('q', 'new')]);
  assert.deepEqual(bodies(await slow.peek('q')), ['new']);
  assert.deepEqual(bodies(await slow.receiveAndDeleteMany('q', 9)), ['new']);
  assert.deepEqual(bodies(await slow.receiveAndDeleteMany('q/$deadletterqueue', 9)), ['c']);
  // The empty block is stored until the scan hint that skips the blocks before it has expired.
  slow.clock.advance({ ms: 30_000 });
  assert.deepEqual(await slow.receiveAndDeleteMany('q', 9), []);
  await slow.units(async () => {});
  assert.equal(await stored.ofEntity(id), 1, 'only the partition header is left');
});

test('a transaction that another process carries out first gets the same answer', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a] = held;
  assert.ok(a);
  const operations = [settling('complete', 'q', a), sending('q', 'new')];
  let elsewhere: unknown;
  meanwhile(async () => {
    elsewhere = await commit(quick, operations, 'id');
  });
  assert.deepEqual(await commit(slow, operations, 'id'), elsewhere);
  assert.deepEqual(bodies(await slow.peek('q')), ['b', 'c', 'new']);
});

test('after a transaction was answered with a lost lock, no concurrent attempt with its id can succeed', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a] = held;
  assert.ok(a);
  const operations = [settling('complete', 'q', a), sending('q', 'new')];
  // The slow attempt has read a live lock, and no receiver locks the message after that lock expired.
  meanwhile(async () => {
    slow.clock.advance({ ms: 30_000 });
    const answer = await transact(quick, operations, 'id');
    assert.equal(refusalOf(answer).code, 'MessageLockLost', answer.text);
  });
  const answer = await transact(slow, operations, 'id');
  assert.equal(answer.status, 404, answer.text);
  assert.deepEqual(bodies(await slow.peek('q')), ['a', 'b', 'c']);
});

test('U5 a transaction is rolled back if another attempt with its id is refused before its write', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a] = held;
  assert.ok(a);
  const operations = [settling('complete', 'q', a), sending('r', 'new')];
  expectStatus(await slow.createQueue('r'), 201);
  meanwhile(async () => {
    expectStatus(await quick.request('DELETE', 'r'), 200);
    expectStatus(await transact(quick, operations, 'id'), 410);
    expectStatus(await quick.createQueue('r'), 201);
  });
  const answer = await transact(slow, operations, 'id');
  assert.equal(answer.status, 409, answer.text);
  assert.deepEqual(
    [refusalOf(answer).code, refusalOf(answer).retryable],
    ['TransactionAborted', true],
  );
  assert.deepEqual(bodies(await slow.peek('r')), []);
  await commit(slow, operations, 'id');
  await commit(quick, operations, 'id');
  assert.deepEqual(bodies(await slow.peek('r')), ['new']);
});

test('a transaction stores no message in a queue that is deleted and created again before its write', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a] = held;
  assert.ok(a);
  meanwhile(async () => {
    expectStatus(await quick.request('DELETE', 'q'), 200);
    expectStatus(await quick.createQueue('q'), 201);
  });
  await transact(slow, [settling('complete', 'q', a), sending('q', 'new')]);
  assert.deepEqual(await quick.peek('q'), []);
});
