import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type InterposingClient, interposingClient } from '../../support/interposing-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { bodies, having } from '../queues/queue.ts';
import { commit, refusalOf, sending, settling, transact } from './transaction.ts';

/** What happens to a transaction while it is on its way: after it has looked, before it is written. */

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

test('#129 a lock that is lost on the way refuses the transaction, and names the operation', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a, b] = held;
  assert.ok(a && b);
  meanwhile(async () => {
    await quick.settle('q', [having(b, 'complete')]);
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

test('what others settle in the same block on the way does not disturb a transaction', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a, b, c] = held;
  assert.ok(a && b && c);
  const stored = new StoredItems(slow);
  t.after(() => stored.close());
  const id = await stored.idOf('q');
  meanwhile(async () => {
    await quick.settle('q', [having(b, 'complete'), having(c, 'deadLetter')]);
  });
  await commit(slow, [settling('complete', 'q', a), sending('q', 'new')]);
  assert.deepEqual(bodies(await slow.peek('q')), ['new']);
  assert.deepEqual(bodies(await slow.receiveAndDeleteMany('q', 9)), ['new']);
  assert.deepEqual(bodies(await slow.receiveAndDeleteMany('q/$deadletterqueue', 9)), ['c']);
  // The emptied block stays as long as it is known that nothing can be had in front.
  slow.clock.advance({ ms: 30_000 });
  assert.deepEqual(await slow.receiveAndDeleteMany('q', 9), []);
  await slow.units(async () => {});
  assert.equal(await stored.ofEntity(id), 1, 'only the head is left');
});

test('a transaction that is carried out elsewhere on the way gives that answer', async (t) => {
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

test('once a lost lock was told under an id, no attempt on its way can succeed', async (t) => {
  const { slow, quick, held, meanwhile } = await startRace(t);
  const [a] = held;
  assert.ok(a);
  const operations = [settling('complete', 'q', a), sending('q', 'new')];
  // The slow attempt has seen the lock live, and nobody takes the message after it has run out.
  meanwhile(async () => {
    slow.clock.advance({ ms: 30_000 });
    const answer = await transact(quick, operations, 'id');
    assert.equal(refusalOf(answer).code, 'MessageLockLost', answer.text);
  });
  const answer = await transact(slow, operations, 'id');
  assert.equal(answer.status, 404, answer.text);
  assert.deepEqual(bodies(await slow.peek('q')), ['a', 'b', 'c']);
});

test('a queue that is deleted on the way has its transaction refused or gone with it', async (t) => {
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
