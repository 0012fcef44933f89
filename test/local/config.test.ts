import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { applyConfig } from '../../local/config/apply-config.ts';
import { ConfigError } from '../../local/config/config-error.ts';
import type { NamespaceDescription } from '../../local/config/description.ts';
import { readConfigFile } from '../../local/config/read-file.ts';
import { serviceBusy } from '../../shared/domain/broker-error.ts';
import { type ConfiguredNamespace, faultsOf, startNamespace } from './configured-namespace.ts';

/** A configuration is applied to a namespace on a real engine. */

const SAMPLE = fileURLToPath(new URL('../../test/local/emulator-config.json', import.meta.url));

async function ruleNames(
  { management }: ConfiguredNamespace,
  path: string,
): Promise<readonly string[]> {
  const { items } = await management.rules.list(path, { skip: 0, top: 100, order: 'name' });
  return items.map(({ stored }) => stored.rule.name);
}

test("the entities of a file in the vendor's format exist, and their rules filter messages", async (t) => {
  const namespace = await startNamespace(t);
  const { broker, management } = namespace;
  const config = await readConfigFile(SAMPLE);
  assert.deepEqual(await applyConfig(management, config), { created: 7, updated: 0, unchanged: 0 });

  const topic = 'topic.1';
  const heavy = { weight: '11' };
  await broker.send(topic, 'plain', { MessageId: 'm-0' });
  await broker.send(topic, 'north', { MessageId: 'm-2' }, { region: '"north"' });
  await broker.send(topic, 'heavy', { MessageId: 'm-1' }, heavy);
  await broker.send(
    topic,
    'order',
    { MessageId: 'm-3', Label: 'order', ReplyToSessionId: 'desk-7' },
    { 'Content-Type': 'application/json' },
  );
  const bodies = async (name: string) =>
    (await broker.peek(`${topic}/subscriptions/${name}`)).map(({ body }) => body);
  assert.deepEqual(await bodies('subscription.1'), ['order']);
  assert.deepEqual(await bodies('subscription.2'), ['north']);
  assert.deepEqual(await bodies('subscription.3'), ['plain', 'north', 'heavy', 'order']);
  assert.deepEqual(await bodies('subscription.4'), ['heavy']);
  const [changed] = await broker.peek(`${topic}/subscriptions/subscription.4`);
  assert.equal(changed?.broker['To'], 'heavy');
  assert.deepEqual(await ruleNames(namespace, `${topic}/subscriptions/subscription.3`), [
    '$Default',
  ]);
  assert.deepEqual(await ruleNames(namespace, `${topic}/subscriptions/subscription.4`), [
    'sql-filter-1',
  ]);

  await broker.send('queue.2', 'forwarded');
  assert.equal((await broker.receiveAndDelete('queue.1'))?.body, 'forwarded');
});

test('a configuration that is applied again changes nothing', async (t) => {
  const { management } = await startNamespace(t);
  const config = await readConfigFile(SAMPLE);
  await applyConfig(management, config);
  const before = await management.get('queue.2');
  assert.deepEqual(await applyConfig(management, config), { created: 0, updated: 0, unchanged: 7 });
  assert.deepEqual(await management.get('queue.2'), before);
});

test('every setting and every kind of rule is unchanged when it is applied again', async (t) => {
  const { apply } = await startNamespace(t);
  const common = {
    defaultMessageTimeToLive: 'P1D',
    autoDeleteOnIdle: 'PT1H',
    enableBatchedOperations: false,
    status: 'Disabled',
    userMetadata: 'mine',
  } as const;
  const ingress = {
    duplicateDetectionHistoryTimeWindow: 'PT1M',
    requiresDuplicateDetection: true,
    enablePartitioning: true,
    maxSizeInMegabytes: 2048,
    supportOrdering: false,
    authorizationRules: [{ keyName: 'k', accessRights: ['Manage' as const] }],
  };
  const description: NamespaceDescription = {
    queues: {
      q: {
        ...common,
        ...ingress,
        lockDuration: 'PT30S',
        maxDeliveryCount: 3,
        requiresSession: true,
      },
    },
    topics: {
      t: {
        ...common,
        ...ingress,
        subscriptions: {
          s: {
            ...common,
            forwardDeadLetteredMessagesTo: 'q',
            deadLetteringOnFilterEvaluationExceptions: false,
            rules: {
              every: {},
              none: '1=0',
              sql: { sql: { expression: 'a > @x', parameters: { x: 1.5 } }, action: 'SET b = 1' },
              same: {
                correlation: {
                  subject: 'x',
                  properties: {
                    n: 1,
                    long: 2 ** 40,
                    yes: true,
                    at: new Date('2030-01-01T00:00:00Z'),
                  },
                },
              },
            },
          },
        },
      },
    },
  };
  assert.deepEqual(await apply(description), { created: 3, updated: 0, unchanged: 0 });
  assert.deepEqual(await apply(description), { created: 0, updated: 0, unchanged: 3 });
});

test('entities with other settings are updated, and settings that are left out take their defaults', async (t) => {
  const { apply, management } = await startNamespace(t);
  await apply({ queues: { a: { lockDuration: 'PT30S', userMetadata: 'x' }, b: {} } });
  const outcome = await apply({ queues: { A: { maxDeliveryCount: 3 }, b: {}, c: {} } });
  assert.deepEqual(outcome, { created: 1, updated: 1, unchanged: 1 });
  const { description } = await management.get('a', 'queue');
  assert.deepEqual(
    description.kind === 'queue' && [
      description.lockMs,
      description.userMetadata,
      description.maxDeliveryCount,
    ],
    [60_000, undefined, 3],
  );
});

test('the rules of a configuration become the only ones, and rules that it does not mention stay', async (t) => {
  const namespace = await startNamespace(t);
  const { apply, management } = namespace;
  const withRules = (rules?: Record<string, string>) =>
    ({ topics: { t: { subscriptions: { s: { rules } } } } }) satisfies NamespaceDescription;
  await apply(withRules({ kept: 'a = 1', changed: 'a = 2', gone: 'a = 3' }));
  const rules = { kept: 'a = 1', changed: 'a = 4', added: 'a = 5' };
  assert.equal((await apply(withRules(rules))).updated, 1);
  assert.deepEqual(await ruleNames(namespace, 't/subscriptions/s'), ['added', 'changed', 'kept']);
  const { stored } = await management.rules.get('t/subscriptions/s', 'changed');
  assert.deepEqual(stored.rule.filter, { kind: 'sql', expression: 'a = 4', parameters: {} });
  assert.equal((await apply(withRules())).unchanged, 2);
  assert.deepEqual(await ruleNames(namespace, 't/subscriptions/s'), ['added', 'changed', 'kept']);
});

test('no rule is deleted while one of the configuration is refused', async (t) => {
  const namespace = await startNamespace(t);
  const { apply, management } = namespace;
  const withRules = (rules: Record<string, string>) =>
    ({ topics: { t: { subscriptions: { s: { rules } } } } }) satisfies NamespaceDescription;
  const rules = { kept: 'a = 1', fresh: 'a = 5' };
  for (const method of ['create', 'update'] as const) {
    await apply(
      withRules({ kept: 'a = 1', old: 'a = 2', ...(method === 'update' && { fresh: 'a = 4' }) }),
    );
    const refuse = () => Promise.reject(serviceBusy('The database is busy.'));
    const { mock } = t.mock.method(management.rules, method, refuse);
    assert.equal((await faultsOf(apply(withRules(rules)))).length, 1);
    assert.ok((await ruleNames(namespace, 't/subscriptions/s')).includes('old'), method);
    mock.restore();
    assert.equal((await apply(withRules(rules))).updated, 1);
    assert.deepEqual(await ruleNames(namespace, 't/subscriptions/s'), ['fresh', 'kept']);
  }
});

test('a setting that only a creation can set is refused with its path, and what to do', async (t) => {
  const { apply } = await startNamespace(t);
  await apply({ queues: ['a', 'b', 'c'] });
  const advice =
    'The entity exists: delete it, so that it is created anew, or change the configuration.';
  assert.deepEqual(
    (
      await faultsOf(
        apply({
          queues: [
            { name: 'a', requiresSession: true },
            { name: 'b', enablePartitioning: true },
            { name: 'd', forwardTo: 'a' },
            'e',
          ],
          topics: ['c'],
        }),
      )
    ).toSorted(),
    [
      `queues[0].requiresSession: The value for the 'requiresSession' property of an existing Queue can't be changed. It is 'false'; the update says 'true'. ${advice}`,
      `queues[1].enablePartitioning: Partitioning can't be changed for Queue/Topic. It is 'false'; the update says 'true'. ${advice}`,
      "topics[0]: The namespace has a queue 'c', and no topic: delete it, or choose another name.",
    ].sort(),
  );
});

test('the others are applied when some entities are refused', async (t) => {
  const { apply, management } = await startNamespace(t);
  await apply({ queues: ['a'] });
  await faultsOf(apply({ queues: [{ name: 'a', requiresSession: true }, 'b'] }));
  assert.equal((await management.get('b')).name, 'b');
});

test('what the tier does not have is refused with its path', async (t) => {
  const { apply } = await startNamespace(t, 'Basic');
  const faults = await faultsOf(
    apply({
      queues: [{ name: 'a', requiresSession: true }],
      topics: [{ name: 't', subscriptions: ['s'] }],
    }),
  );
  assert.deepEqual(
    faults.map((line) => line.replace(/namespace '[^']+' is/, 'namespace is')).sort(),
    [
      "queues[0].requiresSession: The property 'requiresSession' can't be set when creating a Queue because the namespace is using the 'Basic' Tier. This operation is only supported in 'Standard' or 'Premium' tier.",
      "topics[0]: A Topic can't be created because the namespace is using the 'Basic' Tier. This operation is only supported in 'Standard' or 'Premium' tier.",
    ],
  );
});

test('a partitioned queue may have a size of its tier, which a file does not name', async (t) => {
  const partitioned = (maxSizeInMegabytes: number) => ({
    queues: { q: { enablePartitioning: true, maxSizeInMegabytes } },
  });
  const premium = await startNamespace(t, 'Premium');
  assert.equal((await premium.apply(partitioned(10_240))).created, 1);
  assert.equal((await premium.apply(partitioned(10_240))).unchanged, 1);
  const standard = await startNamespace(t);
  const [fault] = await faultsOf(standard.apply(partitioned(10_240)));
  assert.match(
    fault ?? '',
    /^queues\.q\.maxSizeInMegabytes: The value '10240' .* not one of 1024,/,
  );
  assert.throws(() => standard.apply(partitioned(10_241)), ConfigError);
});

test('a chain of forwarding is created from its end, whatever the order of the configuration', async (t) => {
  const { apply, broker } = await startNamespace(t);
  await apply({
    queues: [
      { name: 'first', forwardTo: 'second' },
      { name: 'second', forwardTo: 'events' },
      { name: 'last', forwardDeadLetteredMessagesTo: 'errors' },
      'errors',
    ],
    topics: [{ name: 'events', subscriptions: [{ name: 's', forwardTo: 'last' }] }],
  });
  await broker.send('first', 'far');
  assert.equal((await broker.receiveAndDelete('last'))?.body, 'far');
});

test('many entities are created at once', async (t) => {
  const { apply } = await startNamespace(t);
  const names = Array.from({ length: 60 }, (_, i) => `n${i}`);
  const outcome = await apply({
    queues: names.map((name) => `q${name}`),
    topics: [{ name: 't', subscriptions: names }],
  });
  assert.deepEqual(outcome, { created: 121, updated: 0, unchanged: 0 });
});
