import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compose } from '../../lambdas/http/compose.ts';
import { applyConfig } from '../../local/config/apply/apply-config.ts';
import { ConfigError } from '../../local/config/config-error.ts';
import type { NamespaceDescription } from '../../local/config/description.ts';
import { parseDescription } from '../../local/config/parse.ts';
import { readConfigFile } from '../../local/config/read-file.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import type { Management } from '../../shared/broker/management/management.ts';
import type { Tier } from '../../shared/domain/entities/tier.ts';
import { lockAndSettle } from '../spec/queues/queue.ts';
import { engineClient, ROOT_KEY, startBroker, TABLES } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';

/** A configuration is applied to a namespace on a real engine. */

const SAMPLE = fileURLToPath(new URL('../../test/local/emulator-config.json', import.meta.url));

interface Namespace {
  readonly broker: TestBroker;
  readonly management: Management;
  apply(description: NamespaceDescription): ReturnType<typeof applyConfig>;
}

/** A new namespace, with the management of a process beside the one that answers requests. */
async function startNamespace(t: TestContext, tier: Tier = 'Standard'): Promise<Namespace> {
  const broker = await startBroker(t, { tier });
  const client = engineClient();
  const { management, close } = compose({
    client,
    tables: TABLES,
    namespace: broker.namespace,
    tier,
    clock: broker.clock,
    random: realRandom,
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    receiveWaitMsMax: 60_000,
    scheduler: broker.time,
  });
  t.after(async () => {
    await close();
    client.destroy();
  });
  const apply = (description: NamespaceDescription) =>
    applyConfig(management, parseDescription(description));
  return { broker, management, apply };
}

/** The lines of the ConfigError with which `work` fails. */
async function faultsOf(work: Promise<unknown>): Promise<readonly string[]> {
  let found: readonly string[] = [];
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ConfigError, String(error));
    found = error.faults;
    return true;
  });
  return found;
}

async function ruleNames({ management }: Namespace, path: string): Promise<readonly string[]> {
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

test('forwards in circles are set once all queues exist, and messages go round', async (t) => {
  const { apply, broker, management } = await startNamespace(t);
  const description: NamespaceDescription = {
    queues: [
      { name: 'orders', forwardDeadLetteredMessagesTo: 'retries', maxDeliveryCount: 1 },
      { name: 'retries', forwardTo: 'pauses' },
      { name: 'pauses', forwardTo: 'ORDERS', forwardDeadLetteredMessagesTo: 'own' },
      { name: 'own', forwardDeadLetteredMessagesTo: 'sb://here/own' },
      'last',
    ],
  };
  assert.deepEqual(await apply(description), { created: 5, updated: 0, unchanged: 0 });
  assert.deepEqual(await apply(description), { created: 0, updated: 0, unchanged: 5 });
  await broker.send('orders', 'again');
  for (let round = 0; round < 2; round++) {
    assert.equal((await lockAndSettle(broker, 'deadLetter', {}, 'orders')).body, 'again');
  }
  const own = await management.get('own', 'queue');
  assert.equal(
    own.description.kind === 'queue' && own.description.forwardDeadLetteredMessagesTo,
    'own',
  );
});

test('a circle whose queues exist already is closed, and a queue of one that is refused is named', async (t) => {
  const { apply, management } = await startNamespace(t);
  await apply({ queues: ['a', { name: 'b', requiresSession: true }] });
  const forwardOf = async (name: string) => {
    const { description } = await management.get(name, 'queue');
    return description.kind === 'queue' && description.forwardDeadLetteredMessagesTo;
  };
  const circle = (first: string, second: string, settings = {}): NamespaceDescription => ({
    queues: [
      { name: first, forwardDeadLetteredMessagesTo: second },
      { name: second, forwardDeadLetteredMessagesTo: first, ...settings },
    ],
  });
  assert.deepEqual(await apply(circle('a', 'b', { requiresSession: true })), {
    created: 0,
    updated: 2,
    unchanged: 0,
  });
  assert.deepEqual([await forwardOf('a'), await forwardOf('b')], ['b', 'a']);
  const faults = await faultsOf(apply(circle('c', 'b')));
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', /requiresSession/);
});

test('shared access policies that a configuration does not mention stay', async (t) => {
  const { apply, management } = await startNamespace(t);
  const authorizationRules = [{ keyName: 'k', accessRights: ['Send' as const] }];
  await apply({ queues: { q: { authorizationRules } } });
  const policies = async () => {
    const { description } = await management.get('q', 'queue');
    return description.kind === 'queue' ? description.authorizationRules : [];
  };
  const before = await policies();
  assert.equal(before.length, 1);
  assert.equal((await apply({ queues: ['q'] })).unchanged, 1);
  assert.equal((await apply({ queues: { q: { maxDeliveryCount: 3 } } })).updated, 1);
  assert.deepEqual(await policies(), before);
  assert.equal((await apply({ queues: { q: { authorizationRules: [] } } })).updated, 1);
  assert.deepEqual(await policies(), []);
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
