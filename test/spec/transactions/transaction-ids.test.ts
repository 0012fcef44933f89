import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFaults } from '../../support/fault-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { bodies, lock, startQueue } from '../queues/queue.ts';
import { commit, refusalOf, sending, settling, transact } from './transaction.ts';

/** A transaction with a client-assigned id is carried out once, however often it is requested. */

const DAY_MS = 24 * 60 * 60 * 1000;

test('a repeated request with the same id gets the same answer and changes nothing', async (t) => {
  const broker = await startQueue(t, {}, 'a', 'b');
  expectStatus(await broker.putEntity('topic', 'TopicDescription', {}), 201);
  const [a, b] = await broker.peekLockMany('q', 2);
  assert.ok(a && b);
  const operations = [
    settling('complete', 'q', a),
    sending('q', 'c', 'd'),
    settling('renew', 'q', b),
    sending('topic', 'event'),
  ];
  const first = await commit(broker, operations, 'transfer 7');
  assert.deepEqual(first[1], { sequenceNumbers: [3, 4] });
  assert.deepEqual(first[3], { sequenceNumbers: [null] });
  broker.clock.advance({ ms: 1000 });
  assert.deepEqual(await commit(broker, operations, 'transfer 7'), first);
  broker.clock.advance({ ms: DAY_MS - 1001 });
  assert.deepEqual(await commit(broker, operations, 'transfer 7'), first);
  assert.deepEqual(bodies(await broker.peek('q')), ['b', 'c', 'd']);
});

test('an id can be used again after a day', async (t) => {
  const broker = await startQueue(t);
  const operations = [sending('q', 'a')];
  assert.deepEqual(await commit(broker, operations, 'once'), [{ sequenceNumbers: [1] }]);
  broker.clock.advance({ ms: DAY_MS });
  assert.deepEqual(await commit(broker, operations, 'once'), [{ sequenceNumbers: [2] }]);
  assert.deepEqual(await commit(broker, operations, 'once'), [{ sequenceNumbers: [2] }]);
});

test('a transaction with the id of another one is refused', async (t) => {
  const broker = await startQueue(t);
  await commit(broker, [sending('q', 'a')], 'id');
  const answer = await transact(broker, [sending('q', 'b')], 'id');
  assert.equal(answer.status, 400);
  assert.equal(refusalOf(answer).code, 'InvalidOperation');
  assert.match(refusalOf(answer).message, /^The id 'id' is that of an earlier request/);
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
  // Without an id, or with another one, the same transaction is carried out.
  await commit(broker, [sending('q', 'b')]);
  await commit(broker, [sending('q', 'b')], 'id 2');
});

test('the same id can be used in two namespaces', async (t) => {
  const one = await startQueue(t);
  const other = await startQueue(t);
  await commit(one, [sending('q', 'a')], 'id');
  await commit(other, [sending('q', 'b')], 'id');
  assert.deepEqual(bodies(await other.peek('q')), ['b']);
});

test('a refusal for a lost lock is repeated under its id, and a retryable transaction is tried again', async (t) => {
  const broker = await startQueue(t, { LockDuration: 'PT5S' }, 'a');
  const a = await lock(broker);
  broker.clock.advance({ ms: 5000 });
  const late = [settling('complete', 'q', a), sending('q', 'b')];
  for (let i = 0; i < 2; i++) {
    const answer = await transact(broker, late, 'late');
    assert.equal(answer.status, 404);
    const { code, operation, retryable } = refusalOf(answer);
    assert.deepEqual([code, operation, retryable], ['MessageLockLost', 0, false]);
  }
  assert.equal((await transact(broker, [sending('none', 'b')], 'early')).status, 410);
  expectStatus(await broker.createQueue('none'), 201);
  await commit(broker, [sending('none', 'b')], 'early');
});

test('U5 the id of a transaction that was refused can be used again, for a corrected one too', async (t) => {
  const broker = await startQueue(t);
  for (let i = 0; i < 3; i++) expectStatus(await transact(broker, [sending('p', 'a')], 'id'), 410);
  const corrected = [sending('q', 'a')];
  const first = await commit(broker, corrected, 'id');
  assert.deepEqual(await commit(broker, corrected, 'id'), first);
  assert.equal(
    refusalOf(await transact(broker, [sending('p', 'a')], 'id')).code,
    'InvalidOperation',
  );
  assert.deepEqual(bodies(await broker.peek('q')), ['a']);
});

test('a transaction that several processes receive concurrently is carried out once', async (t) => {
  const broker = await startQueue(t);
  const beside = await startBroker(t, { beside: broker });
  for (let round = 0; round < 10; round++) {
    expectStatus(await broker.send('q', 'in'), 201);
    const message = await lock(broker);
    const operations = [sending('q', `out ${round}`), settling('complete', 'q', message)];
    const answers = await Promise.all(
      [broker, beside, broker, beside, beside, broker].map((one) =>
        transact(one, operations, `${round}`),
      ),
    );
    const texts = new Set(answers.map(({ status, text }) => `${status} ${text}`));
    assert.equal(texts.size, 1, [...texts].join('\n'));
    assert.match([...texts].join(), /^200 /);
    assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), [`out ${round}`]);
  }
});

test('a repeated request with the id of a transaction whose answer was lost gets its outcome', async (t) => {
  const faults = startFaults();
  t.after(() => faults.client.destroy());
  const broker = await startBroker(t, { client: faults.client });
  expectStatus(await broker.createQueue('q'), 201);
  let unknown = 0;
  for (let round = 0; round < 60; round++) {
    expectStatus(await broker.send('q', `in ${round}`), 201);
    const message = await lock(broker);
    const operations = [settling('complete', 'q', message), sending('q', `out ${round}`)];
    faults.start(`round ${round}`, {
      requestLost: 0.2,
      answerLost: 0.3,
      throttled: 0.1,
      failed: 0.1,
      slow: 0,
    });
    const first = await transact(broker, operations, `${round}`);
    faults.stop();
    if (first.status !== 200) {
      assert.equal(refusalOf(first).retryable, true, first.text);
      unknown++;
    }
    const again = await transact(broker, operations, `${round}`);
    expectStatus(again, 200);
    if (first.status === 200) assert.equal(again.text, first.text);
    assert.deepEqual(bodies(await broker.receiveAndDeleteMany('q', 9)), [`out ${round}`]);
  }
  assert.ok(unknown > 0 && unknown < 60, `${unknown} of 60 had an unknown outcome`);
});
