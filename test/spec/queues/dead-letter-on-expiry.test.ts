import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus } from '../../support/test-broker.ts';
import {
  bodies,
  DEAD,
  deadLetters,
  EXPIRED,
  instant,
  lock,
  messageOf,
  sendTogether,
  startQueue,
} from './queue.ts';

const DEAD_LETTER = { DeadLetteringOnMessageExpiration: 'true' };

test('#48 #A15 #A17 #C6 #C8 an expired message is dead-lettered at the next receive, with the documented reason and description', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  const UserProperties = { mine: 1 };
  const BrokerProperties = { TimeToLive: 10, MessageId: 'm', Label: 'l', CorrelationId: 'c' };
  await sendTogether(broker, [{ Body: 'a', BrokerProperties, UserProperties }]);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.peekLock('q'), undefined);
  const [dead] = await broker.peekLockMany(DEAD, 10);
  assert.equal(dead?.body, 'a');
  assert.deepEqual(dead?.properties, {
    mine: 1,
    DeadLetterReason: 'TTLExpiredException',
    DeadLetterErrorDescription: 'The message expired and was dead lettered.',
  });
  const { MessageId, Label, CorrelationId, SequenceNumber, EnqueuedTimeUtc } = dead.broker;
  assert.deepEqual(
    [MessageId, Label, CorrelationId, SequenceNumber, EnqueuedTimeUtc],
    ['m', 'l', 'c', 1, instant({ seconds: 0 })],
  );
});

test('#48 a message that expired undelivered has a DeliveryCount of 1 in the dead-letter queue', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.receiveAndDelete('q'), undefined);
  assert.equal((await lock(broker, DEAD)).broker.DeliveryCount, 1);
});

test('#49 #A3 #C9 an expired message stays in its queue until a receive, and the sweep does not move it', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ days: 30 });
  await broker.sweep();
  assert.deepEqual(await broker.peek(DEAD), []);
  assert.equal((await broker.runtimeProperties('q')).deadLetter, 0);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal((await broker.runtimeProperties('q')).deadLetter, 1);
});

test('#C9 a receive from the dead-letter queue does not move expired messages out of the main queue', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  assert.equal(await broker.peekLock(DEAD), undefined);
  assert.deepEqual(await broker.peekLockMany('q', 10), []);
  assert.equal((await lock(broker, DEAD)).body, 'a');
});

test('#48 a message that expires by the default of its queue is dead-lettered, too', async (t) => {
  const settings = { DefaultMessageTimeToLive: 'PT1M', ...DEAD_LETTER };
  const broker = await startQueue(t, settings, 'a', 'b');
  broker.clock.advance({ minutes: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await deadLetters(broker), [
    ['a', ...EXPIRED],
    ['b', ...EXPIRED],
  ]);
});

test('#48 the expired messages of a batch are dead-lettered in order, and the others are delivered', async (t) => {
  const broker = await startQueue(t, DEAD_LETTER);
  await sendTogether(
    broker,
    Array.from({ length: 60 }, (_, i) =>
      i % 3 === 0 ? `${i}` : messageOf(`${i}`, { TimeToLive: 10 + (i % 2) }),
    ),
  );
  broker.clock.advance({ seconds: 11 });
  const kept = Array.from({ length: 60 }, (_, i) => i).filter((i) => i % 3 === 0);
  const gone = Array.from({ length: 60 }, (_, i) => i).filter((i) => i % 3 !== 0);
  assert.deepEqual(bodies(await broker.peekLockMany('q', 100)).map(Number), kept);
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 100)).map(Number), gone);
});

test('#A17 receives dead-letter each of 1,000 expired messages exactly once', async (t) => {
  const broker = await startQueue(t, { DefaultMessageTimeToLive: 'PT1M', ...DEAD_LETTER });
  const sent = Array.from({ length: 1000 }, (_, i) => `${i}`);
  await sendTogether(broker, sent);
  broker.clock.advance({ minutes: 1 });
  for (let i = 0; i < 5; i++) {
    const receives = Array.from({ length: 4 }, () => broker.peekLockMany('q', 100));
    for (const messages of await Promise.all(receives)) assert.deepEqual(messages, []);
  }
  assert.deepEqual(bodies(await broker.receiveAndDeleteMany(DEAD, 1000)), sent);
  const { total } = await broker.runtimeProperties('q');
  assert.equal(total, 0);
});

test('#C8 an update that turns on DeadLetteringOnMessageExpiration also applies to messages that have already expired', async (t) => {
  const broker = await startQueue(t, {});
  expectStatus(await broker.send('q', 'a', { TimeToLive: 10 }), 201);
  broker.clock.advance({ seconds: 10 });
  expectStatus(await broker.updateQueue('q', DEAD_LETTER), 200);
  assert.equal(await broker.peekLock('q'), undefined);
  assert.deepEqual(await deadLetters(broker), [['a', ...EXPIRED]]);
});
