import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXACT_TYPE } from '../../support/exact-messages.ts';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';

const QUEUE = { kind: 'queue', requiresSession: false, maxMessageSizeInKilobytes: 256 };
/** What only senders learn. */
const TOGETHER = { partitions: 1, requiresDuplicateDetection: false };
const SESSIONS = { ...QUEUE, requiresSession: true };
const TOPIC = { ...QUEUE, ...TOGETHER, kind: 'topic' };
const SUBSCRIPTION = { ...QUEUE, kind: 'subscription' };

async function factsOf(broker: TestBroker, path: string): Promise<unknown> {
  const answer = await broker.request('GET', path);
  return answer.status === 200 ? answer.json() : answer.headers.get('x-dynabus-error');
}

test('H23 senders and receivers learn what a link tells, and are refused as a send or a receive is', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('a/q'), 201);
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  expectStatus(await broker.createQueue('off', { Status: 'Disabled' }), 201);
  const partitioned = { EnablePartitioning: 'true', RequiresDuplicateDetection: 'true' };
  expectStatus(await broker.createQueue('p', partitioned), 201);
  const forwards = { ForwardTo: 'p', ForwardDeadLetteredMessagesTo: 's' };
  expectStatus(await broker.createQueue('on', forwards), 201);
  await createTopic(broker);
  await createTopic(broker, 'f', { FilteringMessagesBeforePublishing: 'true' });
  await createSubscription(broker, 't/subscriptions/x', { RequiresSession: 'true' });
  for (const [path, sender, receiver] of [
    ['a/q', { ...QUEUE, ...TOGETHER }, QUEUE],
    ['s', { ...SESSIONS, ...TOGETHER }, SESSIONS],
    ['s/$DeadLetterQueue', 'InvalidOperation', QUEUE],
    ['s/$Transfer/$DeadLetterQueue', 'InvalidOperation', QUEUE],
    ['off', { ...QUEUE, ...TOGETHER }, { ...QUEUE, status: 'Disabled' }],
    [
      'on',
      { ...QUEUE, ...TOGETHER },
      { ...QUEUE, forwardTo: 'p', forwardDeadLetteredMessagesTo: 's' },
    ],
    ['p', { ...QUEUE, partitions: 16, requiresDuplicateDetection: true }, QUEUE],
    ['t', { ...TOPIC, filteringMessagesBeforePublishing: false }, 'InvalidOperation'],
    ['f', { ...TOPIC, filteringMessagesBeforePublishing: true }, 'InvalidOperation'],
    ['t/Subscriptions/x', 'InvalidOperation', { ...SUBSCRIPTION, requiresSession: true }],
    ['t/Subscriptions/x/$deadletterqueue', 'InvalidOperation', SUBSCRIPTION],
    ['missing', 'MessagingEntityNotFound', 'MessagingEntityNotFound'],
    ['t/Subscriptions/missing', 'InvalidOperation', 'MessagingEntityNotFound'],
  ] as const) {
    assert.deepEqual(await factsOf(broker, `${path}/messages/$sender`), sender, path);
    assert.deepEqual(await factsOf(broker, `${path}/messages/$Receiver`), receiver, path);
  }
});

test('the largest message is that of the entity, and for a subscription that of its topic', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium' });
  await createTopic(broker, 't', { MaxMessageSizeInKilobytes: '2048' });
  await createSubscription(broker, 't/subscriptions/x');
  for (const path of ['t/messages/$sender', 't/subscriptions/x/messages/$receiver']) {
    const facts = (await factsOf(broker, path)) as { readonly maxMessageSizeInKilobytes: number };
    assert.equal(facts.maxMessageSizeInKilobytes, 2048);
  }
});

test('a function tells of no larger message than its answers can carry', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t, 'Premium');
  expectStatus(await broker.createQueue('q', { MaxMessageSizeInKilobytes: '102400' }), 201);
  const facts = { ...QUEUE, maxMessageSizeInKilobytes: 4032 };
  assert.deepEqual(await factsOf(broker, 'q/messages/$sender'), { ...facts, ...TOGETHER });
  assert.deepEqual(await factsOf(broker, 'q/messages/$receiver'), facts);
  expectStatus(await broker.send('q', Buffer.alloc(4032 * 1024)), 201);
  const answer = await broker.request('POST', 'q/messages/head', {
    headers: { Accept: EXACT_TYPE },
  });
  expectStatus(answer, 201);
  requireResultsFit();
});
