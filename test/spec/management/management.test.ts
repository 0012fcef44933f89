import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { requireRefusal } from './refusal.ts';

/** Rules of docs/semantics/management.md; every property and method is in test/interop and test/unit. */

/** The raw text of one element in the description of a queue. */
async function shown(broker: TestBroker, queue: string, element: string): Promise<string> {
  const { text } = await broker.request('GET', queue);
  const value = new RegExp(`<${element}>(.*?)</${element}>`).exec(text)?.[1];
  assert.ok(value !== undefined, text);
  return value;
}

test('#135 #136 an existing queue is not created again, and a missing one is not updated', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { MaxDeliveryCount: '3' }), 201);
  requireRefusal(await broker.createQueue('Q'), 409, /already exists/);
  assert.equal(await shown(broker, 'q', 'MaxDeliveryCount'), '3');
  requireRefusal(await broker.updateQueue('other'), 404, /other/);
  expectStatus(await broker.request('GET', 'other'), 404);
});

test('#137 a setting that an update omits takes its default again', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S' }), 201);
  assert.equal(await shown(broker, 'q', 'LockDuration'), 'PT30S');
  expectStatus(await broker.updateQueue('q', { MaxDeliveryCount: '3' }), 200);
  assert.equal(await shown(broker, 'q', 'LockDuration'), 'PT1M');
});

test('#138 a partitioned queue of the default size returns the total size of its sixteen partitions', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { EnablePartitioning: 'true' }), 201);
  assert.equal(await shown(broker, 'q', 'MaxSizeInMegabytes'), '16384');
});

for (const element of ['RequiresSession', 'EnablePartitioning', 'RequiresDuplicateDetection']) {
  test(`#139 ${element} cannot be changed`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('q'), 201);
    requireRefusal(await broker.updateQueue('q', { [element]: 'true' }), 400, /can't be changed/);
    assert.equal(await shown(broker, 'q', element), 'false');
  });
}

test('#140 a LockDuration of more than five minutes is refused, one of five is accepted', async (t) => {
  const broker = await startBroker(t);
  const refused = await broker.createQueue('q', { LockDuration: 'PT6M' });
  requireRefusal(refused, 400, /exceeds the allowed maximum of '5' minutes/);
  expectStatus(await broker.request('GET', 'q'), 404);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT5M' }), 201);
});

test('#144 a queue cannot have the name of a topic, nor replace one', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.putEntity('t', 'TopicDescription', {}), 201);
  requireRefusal(await broker.createQueue('t'), 409, /exists/);
  expectStatus(await broker.request('GET', 't/subscriptions'), 200);
  const { text } = await broker.request('GET', '$Resources/Queues');
  assert.doesNotMatch(text, /<entry/);
});

test('#145 a list returns the requested page', async (t) => {
  const broker = await startBroker(t);
  for (const name of ['a', 'b', 'c']) expectStatus(await broker.createQueue(name), 201);
  const { text } = await broker.request('GET', '$Resources/Queues?$skip=1&$top=1');
  const titles = [...text.matchAll(/<entry.*?<title[^>]*>(.*?)<\/title>/gs)].map(
    ([, name]) => name,
  );
  assert.deepEqual(titles, ['b']);
});

test('#153 twelve policies are accepted, thirteen are not', async (t) => {
  const broker = await startBroker(t);
  const policies = (count: number) => {
    const instance = 'xmlns:i="http://www.w3.org/2001/XMLSchema-instance"';
    const rules = Array.from(
      { length: count },
      (_, i) =>
        `<AuthorizationRule ${instance} i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Listen</AccessRights></Rights><KeyName>k${i}</KeyName></AuthorizationRule>`,
    );
    return { AuthorizationRules: rules.join('') };
  };
  expectStatus(await broker.createQueue('q', policies(12)), 201);
  requireRefusal(await broker.updateQueue('q', policies(13)), 400, /the limit is 12/);
  assert.match(await shown(broker, 'q', 'AuthorizationRules'), /<KeyName>k11<\/KeyName>/);
});
