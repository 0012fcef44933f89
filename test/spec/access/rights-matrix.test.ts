import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import type { RequestOptions } from '../../support/api-client.ts';
import { token } from '../../support/atom-client.ts';
import { ANY_TARGET } from '../../support/consumers.ts';
import { START } from '../../support/manual-clock.ts';
import { ROOT_KEY, startBroker } from '../../support/start-broker.ts';
import type { TestBroker } from '../../support/test-broker.ts';
import {
  BILLING,
  DEAD,
  defer,
  hold,
  key,
  LARGE,
  lock,
  type Methods,
  methodsOf,
  newSession,
  onConsumer,
  prepare,
  QUEUE,
  RIGHTS,
  type Right,
  RULE,
  refill,
  SUBSCRIPTION,
  schedule,
  snapshot,
} from './rights-fixture.ts';

/**
 * The rights of every operation (semantics K7), each tested with every kind of token. The
 * rights are repeated here on purpose, and a test checks that no operation is missing.
 */

/** A request that succeeds with the right token; it first creates what it needs. */
type Ask = (broker: TestBroker) => Promise<readonly [path: string, options?: RequestOptions]>;

interface Row {
  readonly operation: string;
  readonly ask: Ask;
  /** The entity whose rules apply; absent where only those of the namespace apply. */
  readonly scope: 'orders' | 'events' | 'sessions' | undefined;
  /** Empty = allowed without a token. */
  readonly rights: readonly Right[];
}

const rowsOf =
  (scope: Row['scope'], ...rights: readonly Right[]) =>
  (operation: string, ask: Ask | string, body?: string | object, more?: RequestOptions): Row => ({
    operation,
    scope,
    rights,
    ask: async (broker) =>
      typeof ask !== 'string'
        ? ask(broker)
        : [ask, { ...more, ...(body !== undefined && { body: textOf(body) }) }],
  });

const textOf = (body: string | object): string =>
  typeof body === 'string' ? body : JSON.stringify(body);
const json = (body: object): RequestOptions => ({ body: JSON.stringify(body) });

const sending = rowsOf('orders', 'Send');
const listening = rowsOf('orders', 'Listen');
const listeningInSessions = rowsOf('sessions', 'Listen');
const listeningToTopic = rowsOf('events', 'Listen');
const managing = rowsOf('orders', 'Manage');
const managingTopic = rowsOf('events', 'Manage');
const readingRules = rowsOf('events', 'Manage', 'Listen');
const managingNamespace = rowsOf(undefined, 'Manage');
const open = rowsOf(undefined);
const ONE = { sequenceNumbers: [1] };
const LATER = [
  { Body: 'x', BrokerProperties: { ScheduledEnqueueTimeUtc: '2033-11-06T08:49:37Z' } },
];
const IF_MATCH = { headers: { 'If-Match': '*' } };

const ROWS: readonly Row[] = [
  sending('send', 'orders/messages', 'x'),
  rowsOf('events', 'Send')('send', 'events/messages', 'x'),
  sending('schedule', 'orders/messages/$schedule', LATER),
  sending('cancelScheduled', async (broker) => [
    'orders/messages/$cancelScheduled',
    json({ sequenceNumbers: await schedule(broker) }),
  ]),

  listening('peekLock', 'orders/messages/head?timeout=0'),
  listening('peekLock', `${DEAD}/messages/head?timeout=0`),
  listeningToTopic('peekLock', `${BILLING}/messages/head?timeout=0`),
  listening('receiveAndDelete', 'orders/messages/head?timeout=0'),
  listeningToTopic('receiveAndDelete', `${BILLING}/$deadletterqueue/messages/head?timeout=0`),
  listening('settle', async (broker) => {
    const { token: lockToken } = await lock(broker);
    return ['orders/messages/$settle', json({ settlements: [{ lockToken, outcome: 'complete' }] })];
  }),
  listening('renewLocks', async (broker) => [
    'orders/messages/$renew',
    json({ lockTokens: [(await lock(broker)).token] }),
  ]),
  ...['complete', 'abandon', 'renewLock'].map((operation) =>
    listening(operation, async (broker) => [(await lock(broker)).path]),
  ),
  listening('peek', 'orders/messages'),
  sending('senderFacts', 'orders/messages/$sender'),
  rowsOf('events', 'Send')('senderFacts', 'events/messages/$sender'),
  listening('receiverFacts', 'orders/messages/$receiver'),
  listeningToTopic('receiverFacts', `${BILLING}/messages/$receiver`),
  listening('receiveDeferred', async (broker) => [
    'orders/messages/$deferred',
    json({ sequenceNumbers: [await defer(broker)] }),
  ]),
  listening('reactivate', 'orders/messages/$reactivate', ONE),
  listening('deadLetter', 'orders/messages/$deadLetter', ONE),
  listening('delete', 'orders/messages/$delete', ONE),
  managing('breakLock', 'orders/messages/$breakLock', ONE),
  managing('resubmit', `${DEAD}/messages/$resubmit`),
  managing('purge', 'orders/messages/$purge'),

  sending('transact', '$transactions', {
    operations: [{ send: 'orders', amqp: 'AFN1oAoAU3ehBWhlbGxv' }],
  }),
  sending('transact', '$transactions', {
    operations: [{ send: 'orders', messages: [{ Body: 'x' }] }],
  }),
  rowsOf('events', 'Send')('transact', '$transactions', {
    operations: [{ send: 'events', messages: [{ Body: 'x' }] }],
  }),
  listening('transact', async (broker) => {
    const { token: lockToken } = await lock(broker);
    return ['$transactions', json({ operations: [{ abandon: 'orders', lockToken }] })];
  }),
  listeningInSessions('acceptSession', async () => [
    `sessions/sessions/$accept?sessionId=${newSession()}`,
  ]),
  ...['renew', 'release', 'getState', 'setState', 'clearState'].map((what) =>
    listeningInSessions(what.replace(/State|$/, 'Session$&'), async (broker) => [
      `sessions/sessions/$${what.replace(/^.*State/, 'state')}?${await hold(broker)}`,
    ]),
  ),
  listeningInSessions('listSessions', 'sessions/sessions/$list'),

  open('health', '$health'),
  open('emulatorHealth', 'health'),
  open('openApi', '$openapi.json'),
  open('discover', ''),

  managing('getEntity', 'orders'),
  managing('putEntity', 'orders', QUEUE, IF_MATCH),
  managing('deleteEntity', 'orders'),
  managingTopic('getEntity', BILLING),
  managingTopic('putEntity', BILLING, SUBSCRIPTION, IF_MATCH),
  managingTopic('deleteEntity', BILLING),
  managingTopic('listSubscriptions', 'events/Subscriptions'),
  readingRules('listRules', `${BILLING}/Rules`),
  readingRules('getRule', LARGE),
  managingTopic('putRule', LARGE, RULE, IF_MATCH),
  managingTopic('deleteRule', LARGE),
  ...onConsumer(0).map(([what, path, more]) => managing(what, path, undefined, more)),
  ...onConsumer(1).map(([what, path, more]) => managingTopic(what, path, undefined, more)),
  managingNamespace('namespaceInfo', '$namespaceinfo'),
  managingNamespace('listQueues', '$Resources/Queues'),
  managingNamespace('listTopics', '$Resources/Topics'),
  managingNamespace('listEverything', '$entities'),
  managingNamespace('putEntity', async (broker) => {
    await broker.request('DELETE', 'new');
    return ['new', { body: QUEUE }];
  }),
];

/** A token to test a row with, and whether it allows the operation. */
interface Credential {
  readonly what: string;
  readonly authorization: string | null;
  readonly isGood: boolean;
}

/** Manage includes the other rights (semantics K4). */
const covers = (right: Right, needed: readonly Right[]): boolean =>
  right === 'Manage' || needed.includes(right);

function credentials({ scope, rights }: Row): readonly Credential[] {
  const root = { keyName: 'RootManageSharedAccessKey', key: ROOT_KEY };
  const entity = scope ?? 'orders';
  const [right = 'Manage'] = rights;
  const own = { keyName: right, key: key(entity + right, '1') };
  const good = (what: string, authorization: string) => ({ what, authorization, isGood: true });
  const bad = (what: string, authorization: string | null) => ({
    what,
    authorization,
    isGood: rights.length === 0,
  });
  return [
    ...RIGHTS.flatMap((one) =>
      (['1', '2'] as const).map((which) => ({
        what: `${one} of ${entity}, ${which === '1' ? 'primary' : 'secondary'} key`,
        authorization: token('', { keyName: one, key: key(entity + one, which) }),
        isGood: rights.length === 0 || (scope !== undefined && covers(one, rights)),
      })),
    ),
    bad('no token', null),
    bad('another scheme', 'Bearer abc'),
    bad('an expired token', token('', root, START)),
    bad('a wrong key', token('', { ...root, key: 'wrong' })),
    bad('a rule that does not exist', token('', { ...root, keyName: 'Missing' })),
    bad('the scope of another entity', token('/other', root)),
    bad('a rule of the entity, for another', token('/other', own)),
    bad('the same right on another entity', token('', { ...own, key: key(`other${right}`, '1') })),
    bad('an expired rule of the entity', token('', own, START)),
    good('the root rule of the namespace', token('', root)),
    ...(scope === undefined
      ? []
      : [good('the root rule, for this entity', token(`/${scope}`, root))]),
  ];
}

test('the matrix has every operation of the OpenAPI document', async (t) => {
  const broker = await startBroker(t, { push: ANY_TARGET });
  const inContract = [...(await methodsOf(broker)).keys()];
  assert.deepEqual([...new Set(ROWS.map(({ operation }) => operation))].sort(), inContract.sort());
});

function methodOf(methods: Methods, { operation }: Row): string {
  const method = methods.get(operation);
  assert.ok(method, operation);
  return method;
}

/**
 * The rows share a namespace: refused requests change nothing, so they do not disturb each other. `npm test` compares
 * it once, after all rows, and if it has changed, once more after each row, which names the guilty one.
 */
test('#150 #151 #152 operations are refused without their right, and change nothing', async (t) => {
  if (isMore()) return refuseAll(t, { isEachCompared: true });
  try {
    await refuseAll(t, { isEachCompared: false });
  } catch (error) {
    await refuseAll(t, { isEachCompared: true });
    throw error;
  }
});

async function refuseAll(
  t: TestContext,
  { isEachCompared }: { readonly isEachCompared: boolean },
): Promise<void> {
  const broker = await startBroker(t, { push: ANY_TARGET });
  const methods = await methodsOf(broker);
  await prepare(broker);
  const asked: Awaited<ReturnType<Ask>>[] = [];
  for (const row of ROWS) {
    if (row.scope === 'orders') await refill(broker);
    asked.push(await row.ask(broker));
  }
  let before = await snapshot(broker);
  const requireUnchanged = async () => {
    const expected = before;
    before = await snapshot(broker);
    assert.deepEqual(before, expected, 'refused requests changed nothing');
  };
  for (const [i, row] of ROWS.entries()) {
    const [path, options] = asked[i] ?? assert.fail();
    await t.test(`row ${i}: ${row.operation} is refused with another token`, async () => {
      for (const { what, authorization } of credentials(row).filter(({ isGood }) => !isGood)) {
        // On one connection, many refusals would be answered more and more slowly.
        const headers = { ...options?.headers, connection: 'close' };
        const sent = { ...options, authorization, headers };
        const answer = await broker.request(methodOf(methods, row), path, sent);
        assert.equal(answer.status, 401, `${what}: ${answer.text}`);
        assert.equal(answer.headers.get('x-dynabus-error'), 'Unauthenticated');
      }
      if (isEachCompared) await requireUnchanged();
    });
  }
  await requireUnchanged();
}

test('#150 #151 #152 operations are allowed with their right', async (t) => {
  const broker = await startBroker(t, { push: ANY_TARGET });
  const methods = await methodsOf(broker);
  await prepare(broker);
  for (const [i, row] of ROWS.entries()) {
    const may = RIGHTS.filter((one) => covers(one, row.rights));
    const who = row.rights.length === 0 ? 'any or no token' : may.join(' or ');
    const where = row.scope === undefined ? 'the namespace' : row.scope;
    const isRemoval = ['deleteEntity', 'deleteRule', 'deleteConsumer'].includes(row.operation);
    await t.test(`row ${i}: ${row.operation} is allowed with ${who} on ${where}`, async () => {
      for (const { what, authorization } of credentials(row).filter(({ isGood }) => isGood)) {
        if (row.scope === 'orders') await refill(broker);
        const [path, options] = await row.ask(broker);
        const sent = { ...options, authorization };
        const answer = await broker.request(methodOf(methods, row), path, sent);
        assert.ok(answer.status < 300, `${what}: ${answer.status} ${answer.text}`);
        if (isRemoval) await prepare(broker);
      }
    });
  }
});
