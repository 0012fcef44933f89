import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  counts,
  createRuledSubscription,
  createSubscription,
  createTopic,
  deadLettersOf,
  drain,
  drainBodies,
  EVERYTHING,
  reasons,
  set,
  sql,
  subscription,
  transfersOf,
  updateTopic,
} from '../../support/topic-entities.ts';
import { bodies, instant } from '../queues/queue.ts';

const S = subscription('s');

/** A topic `t`, a topic `u` with the subscription `all`, and a queue `q`. */
async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  for (const name of ['t', 'u']) await createTopic(broker, name);
  await createSubscription(broker, subscription('all', 'u'));
  return broker;
}

test('#121 a subscription forwards its copies to a queue, with the sequence number of the topic as EnqueuedSequenceNumber', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, S, { ForwardTo: 'q' });
  await createSubscription(broker, subscription('stays'));
  expectStatus(await broker.send('q', 'own'), 201);
  for (const body of ['a', 'b']) expectStatus(await broker.send('t', body), 201);
  const [, a, b] = await drain(broker, 'q');
  assert.deepEqual(
    [a, b].map((m) => [m?.body, m?.broker.SequenceNumber, m?.broker['EnqueuedSequenceNumber']]),
    [
      ['a', 2, 1],
      ['b', 3, 2],
    ],
  );
  assert.deepEqual(await drainBodies(broker, subscription('stays')), ['a', 'b']);
  assert.deepEqual(await counts(broker, S), {});
});

test('a subscription forwards only messages that match its rules', async (t) => {
  const broker = await start(t);
  const reds = { filter: sql("color = 'red'") };
  await createRuledSubscription(broker, S, { reds }, { ForwardTo: 'q' });
  const batch = ['red', 'blue'].map((color) => ({ Body: color, UserProperties: { color } }));
  expectStatus(await broker.sendBatch('t', batch), 201);
  assert.deepEqual(await drainBodies(broker, 'q'), ['red']);
});

test('the rules of a destination topic see the properties that actions set', async (t) => {
  const broker = await start(t);
  const action = set("SET color = 'blue'; SET sys.Label = 'changed'");
  const paint = { filter: EVERYTHING, action };
  await createRuledSubscription(broker, S, { paint }, { ForwardTo: 'u' });
  for (const [name, expression] of [
    ['blue', "color = 'blue'"],
    ['red', "color = 'red'"],
    ['changed', "sys.Label = 'changed' AND RuleName = 'paint'"],
  ] as const) {
    await createRuledSubscription(broker, subscription(name, 'u'), {
      only: { filter: sql(expression) },
    });
  }
  expectStatus(await broker.sendBatch('t', [{ Body: 'x', UserProperties: { color: 'red' } }]), 201);
  for (const name of ['all', 'blue', 'changed']) {
    assert.deepEqual(await drainBodies(broker, subscription(name, 'u')), ['x'], name);
  }
  assert.deepEqual(await drainBodies(broker, subscription('red', 'u')), []);
});

test('each copy that the rules of a subscription make of a message is forwarded', async (t) => {
  const broker = await start(t);
  const acting = { filter: EVERYTHING, action: set('SET seen = TRUE') };
  const rules = { a: acting, b: acting, plain: { filter: EVERYTHING } };
  await createRuledSubscription(broker, S, rules, { ForwardTo: 'q' });
  expectStatus(await broker.send('t', 'x'), 201);
  const copies = await drain(broker, 'q');
  assert.deepEqual(copies.map(({ properties }) => properties['RuleName'] ?? '').toSorted(), [
    '',
    'a',
    'b',
  ]);
  assert.equal(new Set(copies.map(({ broker: { SequenceNumber } }) => SequenceNumber)).size, 3);
});

test('two subscriptions that forward to one queue both forward their copies', async (t) => {
  const broker = await start(t);
  for (const name of ['a', 'b']) {
    await createSubscription(broker, subscription(name), { ForwardTo: 'q' });
  }
  const large = randomBytes(40_000).toString('base64');
  expectStatus(await broker.sendBatch('t', [{ Body: 'small' }, { Body: large }]), 201);
  const all = await drain(broker, 'q');
  assert.deepEqual(bodies(all).toSorted(), ['small', 'small', large, large].toSorted());
  assert.equal(new Set(all.map(({ broker: { SequenceNumber } }) => SequenceNumber)).size, 4);
});

test('#121 EnqueuedSequenceNumber is that of the first entity, through queues and topics', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('first', { ForwardTo: 't' }), 201);
  await createSubscription(broker, S, { ForwardTo: 'u' });
  await createSubscription(broker, subscription('on', 'u'), { ForwardTo: 'q' });
  for (let i = 0; i < 3; i++) expectStatus(await broker.send('t', 'to t'), 201);
  expectStatus(await broker.send('first', 'x'), 201);
  const x = (await drain(broker, 'q')).at(-1);
  assert.deepEqual([x?.body, x?.broker['EnqueuedSequenceNumber']], ['x', 1]);
  const there = (await drain(broker, subscription('all', 'u'))).at(-1);
  assert.deepEqual([there?.broker['EnqueuedSequenceNumber'], there?.broker.SequenceNumber], [1, 4]);
});

test('#122 hops through topics count', async (t) => {
  const broker = await startBroker(t);
  for (let i = 5; i >= 0; i--) {
    await createTopic(broker, `t${i}`);
    const settings: Record<string, string> = i === 5 ? {} : { ForwardTo: `t${i + 1}` };
    await createSubscription(broker, subscription('s', `t${i}`), settings);
  }
  for (const path of ['t0', 't1']) expectStatus(await broker.send(path, path), 201);
  assert.deepEqual(await drainBodies(broker, subscription('s', 't5')), ['t1']);
  const lost = await broker.peek(transfersOf(subscription('s', 't4')));
  assert.deepEqual(
    lost.map(({ body, properties }) => [body, properties['DeadLetterReason']]),
    [['t0', 'MaxTransferHopCountExceeded']],
  );
});

test('#122 the limit on hops ends a loop through a topic, whose other subscriptions get a copy each round', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, subscription('others'));
  expectStatus(await broker.createQueue('back', { ForwardTo: 't' }), 201);
  await createSubscription(broker, S, { ForwardTo: 'back' });
  expectStatus(await broker.send('t', 'x'), 201);
  // t, back, t, back, t: four hops, and three publications to the topic.
  assert.deepEqual(await drainBodies(broker, subscription('others')), ['x', 'x', 'x']);
  assert.deepEqual(bodies(await broker.peek(transfersOf(S))), ['x']);
});

test('#104 a message that is forwarded to a topic without a matching subscription is dropped', async (t) => {
  const broker = await start(t);
  await createTopic(broker, 'empty');
  expectStatus(await broker.createQueue('source', { ForwardTo: 'empty' }), 201);
  expectStatus(await broker.send('source', 'x'), 201);
  assert.deepEqual(await counts(broker, 'source'), {});
});

test('a destination topic that refuses messages without a matching subscription does not affect copies of other subscriptions', async (t) => {
  const broker = await start(t);
  await createTopic(broker, 'strict', { FilteringMessagesBeforePublishing: 'true' });
  await createSubscription(broker, S, { ForwardTo: 'strict' });
  await createSubscription(broker, subscription('stays'));
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await drainBodies(broker, subscription('stays')), ['x']);
});

test('stored messages do not stay in a queue that forwards to a topic without a matching subscription', async (t) => {
  const broker = await start(t);
  await createTopic(broker, 'strict', { FilteringMessagesBeforePublishing: 'true' });
  expectStatus(await broker.createQueue('source'), 201);
  expectStatus(await broker.send('source', 'x'), 201);
  expectStatus(await broker.updateQueue('source', { ForwardTo: 'strict' }), 200);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  const { Active = 0 } = await counts(broker, 'source');
  assert.equal(Active, 0);
});

test('#A14 the default time to live of a destination topic limits that of forwarded messages', async (t) => {
  const broker = await start(t);
  await updateTopic(broker, 'u', { DefaultMessageTimeToLive: 'PT20S' });
  expectStatus(await broker.createQueue('source', { ForwardTo: 'u' }), 201);
  expectStatus(await broker.send('source', 'long', { TimeToLive: 100 }), 201);
  const [shown] = await broker.peek(subscription('all', 'u'));
  assert.equal(shown?.broker['ExpiresAtUtc'], instant({ seconds: 20 }));
  broker.clock.advance({ seconds: 20 });
  assert.deepEqual(await drain(broker, subscription('all', 'u')), []);
});

test('#40 a destination that requires sessions dead-letters messages without a SessionId', async (t) => {
  const broker = await start(t);
  const settings = { RequiresSession: 'true' };
  await createSubscription(broker, subscription('sessions', 'u'), settings);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'u' }), 201);
  expectStatus(await broker.send('source', 'x'), 201);
  const path = deadLettersOf(subscription('sessions', 'u'));
  const [[body, reason] = []] = (await reasons(broker, path)) as readonly (readonly unknown[])[];
  assert.deepEqual([body, reason], ['x', 'Session id is null.']);
  assert.deepEqual(await drainBodies(broker, subscription('all', 'u')), ['x']);
});

test('a message scheduled at a topic is forwarded by its subscriptions when it is due', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, S, { ForwardTo: 'q' });
  const at = { ScheduledEnqueueTimeUtc: instant({ seconds: 10 }) };
  expectStatus(await broker.send('t', 'x', at), 201);
  broker.clock.advance({ ms: 9999 });
  await broker.sweep();
  assert.deepEqual(await broker.peek('q'), []);
  broker.clock.advance({ ms: 1 });
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, 'q'), ['x']);
});

test('a waiting receive at the end of a chain gets a message that is sent to the first topic', async (t) => {
  const broker = await start(t);
  await createSubscription(broker, S, { ForwardTo: 'u' });
  await createSubscription(broker, subscription('on', 'u'), { ForwardTo: 'q' });
  const waiting = broker.peekLock('q', 60);
  expectStatus(await broker.send('t', 'x'), 201);
  assert.equal((await waiting)?.body, 'x');
});
