import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GATEWAY_VARIABLES } from '../../gateway/variables.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { uniqueRuleKey } from '../../shared/auth/signing-rule.ts';
import {
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { administrationOf } from '../interop/administration/admin-clients.ts';
import { plain } from '../interop/gateway/gateway-clients.ts';
import {
  type GatewayTask,
  type GatewayTasks,
  prepareTasks,
  ROOT_KEY,
} from '../interop/gateway/gateway-task.ts';
import { FAKE_NOW } from '../support/fake-broker.ts';
import { fakeEntity, findableEntities, rule, startApp } from '../support/http-fixture.ts';
import { RawAmqp } from '../support/raw-amqp.ts';
import { RawSession, sourceOf, targetOf } from '../support/raw-session.ts';

/** Row 21: operations count for the rule that signed the token, and are logged so, however it is spelled. */

const ROOT_RULE = 'RootManageSharedAccessKey';
const SENDER_KEY = 'A-key-of-a-rule-at-one-queue-1234567890ABCDE';
const TWIN_KEY = 'A-key-of-a-rule-named-as-the-root-1234567890';
const AUDIENCE = 'sb://localhost/';
const OPERATIONS = 3;

const tokenOf = (keyName: string, key: string) =>
  createSasToken({ audience: AUDIENCE, keyName, key, expiresAt: Date.now() + 60_000 });

/** A token of the sender with its rule's name written in another way. */
const spelt = (field: string) => tokenOf('sender', SENDER_KEY).replace('skn=sender', field);

/** All of them name the rule that signed. */
const SPELLINGS = [
  'skn=sender',
  'skn=sender &',
  'skn=sender  &a=b',
  '\tSKN=sender',
  'skn=%73ender',
  'skn=nobody&skn=sender',
];
/** Spellings that no HTTP header can hold; \u212a is the kelvin sign, whose lower case is k. */
const SPELLINGS_OF_AMQP = ['a=\n&skn=sender', 'skn=nobody&s\u212an=sender', 'skn=sender\n'];

describe('operations of rules at the gateway', () => {
  let tasks: GatewayTasks;
  before(async () => {
    tasks = await prepareTasks();
    const administration = administrationOf(plain((await tasks.start()).port));
    const rule = { claimType: 'SharedAccessKey', accessRights: ['Send' as const] };
    for (const [queue, keyName, key] of [
      ['shared', 'sender', SENDER_KEY],
      ['twin', ROOT_RULE, TWIN_KEY],
    ] as const) {
      const keys = { primaryKey: key, secondaryKey: key };
      await administration.createQueue(queue, {
        authorizationRules: [{ ...rule, keyName, ...keys }],
      });
    }
  });
  after(() => tasks.stop());

  const limited = () =>
    tasks.start({
      env: {
        [GATEWAY_VARIABLES.operationsOfRule]: `0/${OPERATIONS}`,
        [GATEWAY_VARIABLES.accessLog]: 'true',
      },
    });

  async function send({ port }: GatewayTask, queue: string, authorization: string) {
    const headers = { authorization };
    const url = `http://localhost:${port}/${queue}/messages`;
    const response = await fetch(url, { method: 'POST', headers, body: 'one' });
    await response.text();
    return response.status;
  }

  /** The outcome of a link to a queue, after the connection has put a token. */
  async function link(session: RawSession, queue: string, token?: string) {
    if (token !== undefined)
      assert.equal(await session.putToken(token, `${AUDIENCE}${queue}`), 202);
    await session.attach('sender', [sourceOf('here'), targetOf(queue)]);
    // Only an open link gets credit.
    const said = await session.raw.hear('flow', 'detach');
    return said.kind === 'flow' ? 'opened' : said.error?.condition;
  }

  const unauthorized = (t: { after(work: () => void): void }, { port }: GatewayTask) => {
    const session = new RawSession(RawAmqp.opened(port, 'ANONYMOUS'));
    t.after(() => session.raw.destroy());
    return session;
  };

  /** The entries of requests or links in the access log, as soon as there are `count`. */
  async function logged(task: GatewayTask, kind: 'request' | 'link', count: number) {
    const ofKind = () =>
      task
        .lines()
        .filter((line) => line['access'] === kind && !String(line['path']).includes('$cbs'));
    await task.untilLine(() => ofKind().length >= count);
    return ofKind().map(({ rule, ruleOf, claimedRule }) => ({ rule, ruleOf, claimedRule }));
  }

  const ofQueue = (rule: string, ruleOf: string) => ({ rule, ruleOf, claimedRule: undefined });
  const claimed = (claimedRule: string) => ({ rule: undefined, ruleOf: undefined, claimedRule });

  test('row 21: over HTTP a rule has one count, however tokens spell its name', async () => {
    const task = await limited();
    const statuses = [];
    for (const field of SPELLINGS) statuses.push(await send(task, 'shared', spelt(field)));
    assert.deepEqual(statuses, [201, 201, 201, 503, 503, 503]);
    assert.deepEqual(
      await logged(task, 'request', SPELLINGS.length),
      SPELLINGS.map(() => ofQueue('sender', 'shared')),
    );
  });

  test('row 21: over AMQP a rule has one count, however tokens spell its name', async (t) => {
    for (const spellings of [SPELLINGS, SPELLINGS_OF_AMQP]) {
      const task = await limited();
      const session = unauthorized(t, task);
      const outcomes = [];
      for (const field of [...spellings, 'skn=sender']) {
        outcomes.push(await link(session, 'shared', spelt(field)));
      }
      const opened = Array.from({ length: OPERATIONS }, () => 'opened');
      const busy = outcomes.slice(OPERATIONS).map(() => 'com.microsoft:server-busy');
      assert.deepEqual(outcomes, [...opened, ...busy]);
      assert.deepEqual(
        await logged(task, 'link', outcomes.length),
        outcomes.map(() => ofQueue('sender', 'shared')),
      );
    }
  });

  test("row 21: over HTTP a queue's rule with the name of the root rule has its own count", async () => {
    const task = await limited();
    const twin = () => send(task, 'twin', tokenOf(ROOT_RULE, TWIN_KEY));
    assert.deepEqual(
      [await twin(), await twin(), await twin(), await twin()],
      [201, 201, 201, 503],
    );
    assert.equal(await send(task, 'twin', tokenOf(ROOT_RULE, ROOT_KEY)), 201);
    assert.deepEqual((await logged(task, 'request', 5)).slice(3), [
      ofQueue(ROOT_RULE, 'twin'),
      { rule: ROOT_RULE, ruleOf: undefined, claimedRule: undefined },
    ]);
  });

  test("row 21: over AMQP a queue's rule with the name of the root rule has its own count", async (t) => {
    const task = await limited();
    const session = unauthorized(t, task);
    const twin = () => link(session, 'twin', tokenOf(ROOT_RULE, TWIN_KEY));
    for (let opened = 0; opened < OPERATIONS; opened++) assert.equal(await twin(), 'opened');
    assert.equal(await twin(), 'com.microsoft:server-busy');
    const root = new RawSession(RawAmqp.authenticated(task.port, ROOT_RULE, ROOT_KEY));
    t.after(() => root.raw.destroy());
    assert.equal(await link(root, 'twin'), 'opened');
    assert.deepEqual((await logged(task, 'link', 5)).slice(3), [
      ofQueue(ROOT_RULE, 'twin'),
      { rule: ROOT_RULE, ruleOf: undefined, claimedRule: undefined },
    ]);
  });

  test('row 21: the log shows the rule of a refused token as a claim', async (t) => {
    const task = await limited();
    const wrong = (name: string) => tokenOf(name, 'wrong');
    assert.equal(await send(task, 'shared', `${wrong('sender')} &skn=${'x'.repeat(5000)}`), 401);
    assert.equal(await send(task, 'shared', wrong('sender').replace('skn=', 'SKN=')), 401);
    assert.equal(await send(task, 'shared', 'SharedAccessSignature skn=sender'), 401);
    // The signature is valid, but the rule is of another queue; the log shows the claimed rule.
    assert.equal(await send(task, 'twin', spelt('skn=sender  &')), 401);
    assert.deepEqual(await logged(task, 'request', 4), [
      claimed('x'.repeat(256)),
      claimed('sender'),
      { rule: undefined, ruleOf: undefined, claimedRule: undefined },
      claimed('sender'),
    ]);
    const session = new RawSession(RawAmqp.authenticated(task.port, 'sender', SENDER_KEY));
    t.after(() => session.raw.destroy());
    assert.equal(await link(session, 'shared'), 'opened');
    // The rights of another link of the connection do not apply to this one.
    assert.equal(await link(session, 'twin'), 'amqp:unauthorized-access');
    assert.deepEqual(await logged(task, 'link', 2), [
      ofQueue('sender', 'shared'),
      claimed('sender'),
    ]);
  });

  test('row 21: the log shows the rule that authorized a transaction', async () => {
    const task = await limited();
    const transact = async (path: string) => {
      const operations = [{ send: path, messages: [{ Body: 'one' }] }];
      const response = await fetch(`http://localhost:${task.port}/$transactions`, {
        method: 'POST',
        headers: { authorization: spelt('skn=sender &'), 'content-type': 'application/json' },
        body: JSON.stringify({ operations }),
      });
      await response.text();
      return response.status;
    };
    for (let done = 0; done < OPERATIONS; done++) assert.equal(await transact('shared'), 200);
    assert.equal(await transact('shared'), 503);
    assert.deepEqual((await logged(task, 'request', 4)).at(-1), ofQueue('sender', 'shared'));
  });

  test('row 21: the log shows the rule that authorized a management operation', async () => {
    const task = await limited();
    const headers = { authorization: tokenOf(ROOT_RULE, ROOT_KEY) };
    const url = `http://localhost:${task.port}/twin?api-version=2021-05`;
    await (await fetch(url, { headers })).text();
    assert.deepEqual(await logged(task, 'request', 1), [
      { rule: ROOT_RULE, ruleOf: undefined, claimedRule: undefined },
    ]);
  });
});

test('row 21: a rule has one count for its entity and all below it, however paths spell them', async () => {
  const rules = [rule('own', 'Send', 'Listen')];
  const topic = fakeEntity('t', { ...TOPIC_DEFAULTS, authorizationRules: rules });
  const subscription = fakeEntity('t/subscriptions/s', SUBSCRIPTION_DEFAULTS);
  const counted: string[] = [];
  const { call } = startApp({
    entities: findableEntities({ t: topic, 't/subscriptions/s': subscription }),
    countOperation: (one) => {
      counted.push(uniqueRuleKey(one));
    },
  });
  const authorization = createSasToken({
    audience: AUDIENCE,
    keyName: 'own',
    key: 'own-primary',
    expiresAt: FAKE_NOW + 60_000,
  });
  const one = { headers: { authorization } };
  for (const path of ['t', 'T', '%74']) await call('POST', `/${path}/messages`, one);
  for (const path of [
    't/subscriptions/s',
    'T/Subscriptions/S',
    't/subscriptions/s/$DeadLetterQueue',
  ])
    await call('DELETE', `/${path}/messages/head?timeout=0`, one);
  assert.deepEqual(counted, Array(6).fill('t\nown'));
});
