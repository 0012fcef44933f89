import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscription,
  createTopic,
  drainBodies,
  putSubscription,
  subscription,
  transfersOf,
} from '../../support/topic-entities.ts';
import { requireRefusal } from '../management/refusal.ts';

const FORWARDS = ['ForwardTo', 'ForwardDeadLetteredMessagesTo'] as const;

/** A queue `q` and a topic `t` with the subscription `s`. */
async function start(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'));
  return broker;
}

const MISSING = /SubCode=40400.*The auto forwarding destination entity doesn't exist\./;
const ITSELF = /Entity cannot have auto-forwarding policy to itself/;

for (const forward of FORWARDS) {
  test(`#125 ${forward} with the name of a missing entity is refused`, async (t) => {
    const broker = await start(t);
    const settings = { [forward]: 'missing' };
    requireRefusal(await broker.createQueue('new', settings), 400, MISSING);
    requireRefusal(await broker.updateQueue('q', settings), 400, MISSING);
    requireRefusal(await putSubscription(broker, subscription('new'), settings), 400, MISSING);
    expectStatus(await broker.request('GET', 'q'), 200);
    expectStatus(await broker.send('q', 'x'), 201);
    assert.deepEqual(await drainBodies(broker, 'q'), ['x']);
  });

  test(`#125 an update that leaves ${forward} as it is, is accepted though the destination is gone`, async (t) => {
    const broker = await start(t);
    expectStatus(await broker.createQueue('there'), 201);
    const kept = { [forward]: 'there' };
    expectStatus(await broker.createQueue('new', kept), 201);
    const sub = subscription('new');
    expectStatus(await putSubscription(broker, sub, kept), 201);
    expectStatus(await broker.request('DELETE', 'there'), 200);
    const Status = 'ReceiveDisabled';
    const put = [
      (settings: Record<string, string>) => broker.updateQueue('new', settings),
      (settings: Record<string, string>) =>
        broker.putEntity(sub, 'SubscriptionDescription', settings, { 'If-Match': '*' }),
    ];
    for (const update of put) {
      expectStatus(await update({ [forward]: 'sb://here.example/THERE', Status }), 200);
      requireRefusal(await update({ [forward]: 'other', Status }), 400, MISSING);
      const both = { ForwardTo: 'there', ForwardDeadLetteredMessagesTo: 'there', Status };
      requireRefusal(await update(both), 400, MISSING);
      expectStatus(await update({ Status }), 200);
      requireRefusal(await update(kept), 400, MISSING);
    }
  });

  test(`#125 ${forward} with the name of a subscription is refused`, async (t) => {
    const broker = await start(t);
    const answer = await broker.createQueue('new', { [forward]: subscription('s') });
    assert.ok([400, 404].includes(answer.status), answer.text);
  });

  test(`#126 ${forward} with the name of the entity itself is refused, unless it is an address (Python client of 2020)`, async (t) => {
    const broker = await start(t);
    for (const name of ['q', 'Q', '/q', 'q/', '%71']) {
      requireRefusal(await broker.updateQueue('q', { [forward]: name }), 400, ITSELF);
    }
    for (const address of ['sb://here.example/Q/', 'https://here.example/q']) {
      expectStatus(await broker.updateQueue('q', { [forward]: address }), 200);
      assert.match(
        (await broker.request('GET', 'q')).text,
        new RegExp(`<${forward}>sb://.*/q<`, 'i'),
      );
    }
  });

  test(`#126 ${forward} of a subscription with the name of its own topic is refused`, async (t) => {
    const broker = await start(t);
    for (const name of ['t', 'T', 'sb://here.example/t']) {
      const answer = await putSubscription(broker, subscription('new'), { [forward]: name });
      requireRefusal(answer, 400, ITSELF);
    }
  });

  test(`${forward} accepts an address and is shown as one`, async (t) => {
    const broker = await start(t);
    const settings = { [forward]: 'sb://here.example/q' };
    expectStatus(await broker.createQueue('new', settings), 201);
    const shown = await broker.request('GET', 'new');
    assert.match(shown.text, new RegExp(`<${forward}>[a-z]+://[^<]*/q</${forward}>`));
  });
}

test('#127 ForwardTo of an entity that requires sessions is refused', async (t) => {
  const broker = await start(t);
  await createTopic(broker, 'u');
  const settings = { RequiresSession: 'true', ForwardTo: 'q' };
  const refused = [
    await broker.createQueue('new', settings),
    await putSubscription(broker, subscription('new'), settings),
  ];
  for (const answer of refused) requireRefusal(answer, 400, /session/i);
  expectStatus(await broker.createQueue('sessions', { RequiresSession: 'true' }), 201);
  requireRefusal(await broker.updateQueue('sessions', settings), 400, /session/i);
});

test('#127 a queue that requires sessions can be created with ForwardTo a topic (Python client of 2024)', async (t) => {
  const broker = await start(t);
  const settings = { RequiresSession: 'true', ForwardTo: 't' };
  expectStatus(await broker.createQueue('sessions', settings), 201);
  expectStatus(await broker.updateQueue('sessions', { ...settings, MaxDeliveryCount: '5' }), 200);
  expectStatus(await broker.send('sessions', 'now', { SessionId: 'a' }), 201);
  const ScheduledEnqueueTimeUtc = new Date(broker.clock.now() + 60_000).toUTCString();
  const later = { SessionId: 'a', ScheduledEnqueueTimeUtc };
  expectStatus(await broker.send('sessions', 'later', later), 201);
  requireRefusal(await broker.send('sessions', 'without a session'), 400, /SessionId/);
  assert.deepEqual(await drainBodies(broker, subscription('s')), ['now']);
  broker.clock.advance({ minutes: 1 });
  // This peek activates the due message, which must not stay in its session.
  const peek = 'sessions/messages?sessionId=a';
  expectStatus(await broker.request('GET', peek), 200);
  for (const query of ['timeout=0', 'sessionId=a']) {
    const answer = await broker.request('POST', `sessions/sessions/$accept?${query}`);
    requireRefusal(answer, 400, /forwards its messages to 't'/);
  }
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, subscription('s')), ['later']);
});

async function startForwardingSessions(t: TestContext): Promise<TestBroker> {
  const broker = await start(t);
  const settings = { RequiresSession: 'true', ForwardTo: 't' };
  expectStatus(await broker.createQueue('sessions', settings), 201);
  return broker;
}

test('failed transfers of a forwarding session queue are forwarded once they are resubmitted', async (t) => {
  const broker = await startForwardingSessions(t);
  const setTopic = (Status: string) =>
    broker.putEntity('t', 'TopicDescription', { Status }, { 'If-Match': '*' });
  expectStatus(await setTopic('Disabled'), 200);
  expectStatus(await broker.send('sessions', 'failed', { SessionId: 'a' }), 201);
  expectStatus(await setTopic('Active'), 200);
  assert.equal(await broker.resubmit('sessions/$Transfer/$DeadLetterQueue'), 1);
  assert.deepEqual(await drainBodies(broker, subscription('s')), ['failed']);
});

test('a due message of a forwarding session queue can no longer be cancelled', async (t) => {
  const broker = await startForwardingSessions(t);
  const ScheduledEnqueueTimeUtc = new Date(broker.clock.now() + 60_000).toUTCString();
  const later = { SessionId: 'a', ScheduledEnqueueTimeUtc };
  expectStatus(await broker.send('sessions', 'later', later), 201);
  const { text } = await broker.request('GET', 'sessions/messages?sessionId=a');
  const [, number] = /"SequenceNumber":(\d+)/.exec(text) ?? [];
  broker.clock.advance({ minutes: 2 });
  expectStatus(await broker.cancelScheduled('sessions', [Number(number)]), 404);
  assert.deepEqual(await drainBodies(broker, subscription('s')), ['later']);
});

test('the limit on hops ends a loop of a queue that forwards to itself', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.updateQueue('q', { ForwardTo: 'sb://here.example/q' }), 200);
  expectStatus(await broker.send('q', 'round'), 201);
  assert.deepEqual(await drainBodies(broker, 'q/$Transfer/$DeadLetterQueue'), ['round']);
});

test('#127 an entity that requires sessions can forward its dead letters', async (t) => {
  const broker = await start(t);
  const settings = { RequiresSession: 'true', ForwardDeadLetteredMessagesTo: 'q' };
  await createSubscription(broker, subscription('sessions'), settings);
  expectStatus(await broker.send('t', 'no session'), 201);
  broker.clock.advance({ minutes: 1 });
  await broker.sweep();
  assert.deepEqual(await drainBodies(broker, 'q'), ['no session']);
});

for (const [what, method, query] of [
  ['a peek-lock', 'POST', ''],
  ['a receive-and-delete', 'DELETE', ''],
  ['a receive of many messages', 'POST', '&maxMessages=10'],
] as const) {
  test(`#124 ${what} from a forwarding entity is refused`, async (t) => {
    const broker = await start(t);
    expectStatus(await broker.createQueue('source', { ForwardTo: 'q' }), 201);
    await createSubscription(broker, subscription('forwarding'), { ForwardTo: 'q' });
    for (const path of ['source', subscription('forwarding')]) {
      const answer = await broker.request(method, `${path}/messages/head?timeout=0${query}`);
      requireRefusal(answer, 400, /forward/);
      assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
    }
  });
}

test('#124 a receive of deferred messages from a forwarding queue is refused', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'q' }), 201);
  const answer = await broker.receiveDeferredRaw('source', [1]);
  assert.equal(answer.headers.get('x-dynabus-error'), 'InvalidOperation');
});

test('#124 a waiting receive is refused as soon as ForwardTo of its queue is set', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('source'), 201);
  const waiting = broker.request('POST', 'source/messages/head?timeout=60');
  expectStatus(await broker.updateQueue('source', { ForwardTo: 'q' }), 200);
  broker.clock.advance({ ms: 1 });
  assert.equal((await waiting).status, 400);
});

test('#124 dead letters and failed transfers of a forwarding queue can be received', async (t) => {
  const broker = await start(t);
  expectStatus(await broker.createQueue('source', { ForwardTo: 'q' }), 201);
  assert.equal(await broker.peekLock('source/$deadletterqueue'), undefined);
  assert.equal(await broker.peekLock(transfersOf('source')), undefined);
});

test('#A21 a forwarding queue is never idle, and shows the largest TimeSpan as AutoDeleteOnIdle', async (t) => {
  const broker = await start(t);
  const settings = { AutoDeleteOnIdle: 'PT5M', ForwardTo: 'q' };
  expectStatus(await broker.createQueue('source', settings), 201);
  const shown = await broker.request('GET', 'source');
  assert.match(shown.text, /<AutoDeleteOnIdle>P10675199DT2H48M5\.4775807S</);
  for (let i = 0; i < 10; i++) {
    broker.clock.advance({ minutes: 5 });
    await broker.sweep();
  }
  expectStatus(await broker.send('source', 'x'), 201);
  assert.deepEqual(await drainBodies(broker, 'q'), ['x']);
});
