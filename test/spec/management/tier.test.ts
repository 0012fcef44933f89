import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

const UNLIMITED = 'P10675199DT2H48M5.4775807S';
const TIERS = ['Basic', 'Standard', 'Premium'] as const;

test('#57 #A13 Basic: by default a queue keeps messages for 14 days', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  expectStatus(await broker.createQueue('q'), 201);
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
  expectStatus(await broker.updateQueue('q', { DefaultMessageTimeToLive: 'P1D' }), 200);
  assert.equal(await timeToLive(broker, 'q'), 'P1D');
  expectStatus(await broker.updateQueue('q'), 200);
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
});

test('#57 #A13 Basic: more than 14 days are refused, at creation and later', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  expectStatus(await broker.createQueue('q', { DefaultMessageTimeToLive: 'P14D' }), 201);
  for (const tooLong of ['P14DT1S', 'P15D', 'P10675199D']) {
    const settings = { DefaultMessageTimeToLive: tooLong };
    for (const answer of [
      await broker.createQueue('other', settings),
      await broker.updateQueue('q', settings),
    ]) {
      assertRefused(
        answer,
        `The value '${tooLong}' of the 'defaultMessageTimeToLive' property is above 'P14D', the maximum in the 'Basic' Tier, which the namespace '${broker.namespace}' is using.`,
      );
    }
  }
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
});

test('#57 #A13 Basic: unlimited, which clients send by default, is silently limited', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  const settings = { DefaultMessageTimeToLive: UNLIMITED, AutoDeleteOnIdle: UNLIMITED };
  expectStatus(await broker.createQueue('q', settings), 201);
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
  expectStatus(await broker.updateQueue('q', settings), 200);
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
  assert.equal(await shown(broker, 'q', 'AutoDeleteOnIdle'), UNLIMITED);
});

test('#57 #A13 Basic: a message with a longer time to live, or without one, expires after 14 days', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  await broker.createQueue('q');
  expectStatus(await broker.send('q', 'asks', { TimeToLive: 30 * 24 * 3600 }), 201);
  expectStatus(await broker.send('q', 'does not'), 201);
  broker.clock.advance({ days: 14, seconds: -1 });
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'asks');
  expectStatus(await broker.send('q', 'asks', { TimeToLive: 30 * 24 * 3600 }), 201);
  broker.clock.advance({ seconds: 1 });
  assert.equal((await broker.receiveAndDelete('q'))?.body, 'asks');
  assert.equal(await broker.receiveAndDelete('q'), undefined);
});

test('#57 #A13 Standard and Premium: unlimited by default, and any limit may be set', async (t) => {
  for (const tier of ['Standard', 'Premium'] as const) {
    const broker = await startBroker(t, { tier });
    expectStatus(await broker.createQueue('q'), 201);
    assert.equal(await timeToLive(broker, 'q'), UNLIMITED);
    expectStatus(await broker.updateQueue('q', { DefaultMessageTimeToLive: 'P15D' }), 200);
    assert.equal(await timeToLive(broker, 'q'), 'P15D');
    expectStatus(await broker.putEntity('t', 'TopicDescription', {}), 201);
    assert.equal(await timeToLive(broker, 't'), UNLIMITED);
    expectStatus(await broker.putEntity('t/Subscriptions/s', 'SubscriptionDescription', {}), 201);
    assert.equal(await timeToLive(broker, 't/Subscriptions/s'), UNLIMITED);
  }
});

test('#57 #A13 the namespace returns its tier, by default Standard', async (t) => {
  assert.equal(await shown(await startBroker(t), '$namespaceinfo', 'MessagingSKU'), 'Standard');
  for (const tier of TIERS) {
    const broker = await startBroker(t, { tier });
    assert.equal(await shown(broker, '$namespaceinfo', 'MessagingSKU'), tier);
  }
});

const BEYOND_BASIC: readonly (readonly [string, Record<string, string>])[] = [
  ['requiresSession', { RequiresSession: 'true' }],
  ['requiresDuplicateDetection', { RequiresDuplicateDetection: 'true' }],
  ['forwardTo', { ForwardTo: 'q' }],
  ['forwardDeadLetteredMessagesTo', { ForwardDeadLetteredMessagesTo: 'q' }],
  ['autoDeleteOnIdle', { AutoDeleteOnIdle: 'PT1H' }],
];

test('#57 #A13 Basic: other features that the tier lacks are refused in the words of the service', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  await broker.createQueue('q');
  const why = `because the namespace '${broker.namespace}' is using the 'Basic' Tier. This operation is only supported in 'Standard' or 'Premium' tier.`;
  for (const [property, settings] of BEYOND_BASIC) {
    assertRefused(
      await broker.createQueue('other', settings),
      `The property '${property}' can't be set when creating a Queue ${why}`,
    );
    assertRefused(await broker.updateQueue('q', settings), '');
  }
  assertRefused(
    await broker.putEntity('t', 'TopicDescription', {}),
    `A Topic can't be created ${why}`,
  );
  assertRefused(
    await broker.putEntity('t/Subscriptions/s', 'SubscriptionDescription', {}),
    `A Subscription can't be created ${why}`,
  );
  expectStatus(await broker.request('GET', 'other'), 404);
});

test('#57 #A13 Basic: a queue can be created with partitions', async (t) => {
  const broker = await startBroker(t, { tier: 'Basic' });
  expectStatus(await broker.createQueue('q', { EnablePartitioning: 'true' }), 201);
  assert.equal(await shown(broker, 'q', 'MaxSizeInMegabytes'), '16384');
  assert.equal(await timeToLive(broker, 'q'), 'P14D');
});

test('#57 #A13 Premium: large messages and entities', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium' });
  expectStatus(await broker.createQueue('q'), 201);
  assert.equal(await shown(broker, 'q', 'MaxMessageSizeInKilobytes'), '1024');
  for (const size of ['1024', '5120', '10240', '20480', '40960', '81920']) {
    expectStatus(await broker.updateQueue('q', { MaxSizeInMegabytes: size }), 200);
    assert.equal(await shown(broker, 'q', 'MaxSizeInMegabytes'), size);
  }
  expectStatus(await broker.send('q', new Uint8Array(1000 * 1024)), 201);
});

test('#57 #A13 Premium: the limit of messages is 1 to 100 MB', async (t) => {
  const broker = await startBroker(t, { tier: 'Premium' });
  expectStatus(await broker.createQueue('q'), 201);
  for (const size of ['1024', '102400']) {
    expectStatus(await broker.updateQueue('q', { MaxMessageSizeInKilobytes: size }), 200);
    assert.equal(await shown(broker, 'q', 'MaxMessageSizeInKilobytes'), size);
  }
  for (const size of ['1023', '102401']) {
    const settings = { MaxMessageSizeInKilobytes: size };
    for (const answer of [
      await broker.createQueue('other', settings),
      await broker.putEntity('t', 'TopicDescription', settings),
      await broker.updateQueue('q', settings),
    ]) {
      assertRefused(
        answer,
        `The property value for 'MaxMessageSizeInKilobytes' must be between 1024 and 102400 when the namespace '${broker.namespace}' is using 'Premium' tier. Actual value was ${size}.`,
      );
    }
  }
});

test('Basic and Standard: MaxMessageSizeInKilobytes is refused, except the value that clients have read (live suites)', async (t) => {
  for (const tier of ['Basic', 'Standard'] as const) {
    const broker = await startBroker(t, { tier });
    for (const size of ['255', '257', '1024', '102400']) {
      assertRefused(
        await broker.createQueue('q', { MaxMessageSizeInKilobytes: size }),
        `The property 'maxMessageSizeInKilobytes' can't be set when creating a Queue because the namespace '${broker.namespace}' is using the '${tier}' Tier. This operation is only supported in 'Premium' tier.`,
      );
    }
    expectStatus(await broker.createQueue('q', { MaxMessageSizeInKilobytes: '256' }), 201);
    expectStatus(await broker.updateQueue('q', { MaxMessageSizeInKilobytes: '256' }), 200);
    expectStatus(await broker.updateQueue('q', { MaxMessageSizeInKilobytes: '512' }), 400);
  }
  const premium = await startBroker(t, { tier: 'Premium' });
  const settings = { MaxMessageSizeInKilobytes: '2048' };
  expectStatus(await premium.createQueue('q', settings), 201);
  const standard = await startBroker(t, { tier: 'Standard', beside: premium });
  // The same value is accepted in another tier.
  expectStatus(await standard.updateQueue('q', { ...settings, MaxDeliveryCount: '5' }), 200);
  const usual = { MaxMessageSizeInKilobytes: '256' };
  expectStatus(await standard.createQueue('usual', usual), 201);
  expectStatus(await premium.updateQueue('usual', { ...usual, MaxDeliveryCount: '5' }), 200);
});

test('#57 #A13 Basic and Standard: a message of more than 256 KB is refused', async (t) => {
  for (const tier of ['Basic', 'Standard'] as const) {
    const broker = await startBroker(t, { tier });
    await broker.createQueue('q');
    assert.equal(await shown(broker, 'q', 'MaxMessageSizeInKilobytes'), '256');
    expectStatus(await broker.send('q', new Uint8Array(257 * 1024)), 403);
  }
});

function timeToLive(broker: TestBroker, path: string): Promise<string | undefined> {
  return shown(broker, path, 'DefaultMessageTimeToLive');
}

/** The text of one element in a response of management. */
async function shown(broker: TestBroker, path: string, name: string): Promise<string | undefined> {
  const answer = await broker.request('GET', path);
  expectStatus(answer, 200);
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(answer.text)?.[1];
}

function assertRefused(answer: Answer, sentence: string): void {
  expectStatus(answer, 400);
  const told = answer.text.replaceAll('&apos;', "'").replaceAll('&#39;', "'");
  assert.ok(told.includes(`SubCode=40000. ${sentence}`), answer.text);
}
