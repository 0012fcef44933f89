import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { described, list, str } from '../../amqp/wire/value.ts';
import { AccessLog } from '../../gateway/access-log.ts';
import { readLimits } from '../../gateway/limits.ts';
import { GATEWAY_VARIABLES } from '../../gateway/variables.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import { claimedRuleOf, uniqueRuleKey } from '../../shared/auth/signing-rule.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { administrationOf } from '../interop/administration/admin-clients.ts';
import { addressed, plain } from '../interop/gateway/gateway-clients.ts';
import { type GatewayTasks, prepareTasks, ROOT_KEY } from '../interop/gateway/gateway-task.ts';
import { RawAmqp } from '../support/raw-amqp.ts';

const ROOT_RULE = 'RootManageSharedAccessKey';
const SENDER_KEY = 'A-key-of-a-rule-at-one-queue-1234567890ABCDE';

describe('rules of shared access signatures at the gateway', () => {
  let tasks: GatewayTasks;
  before(async () => {
    tasks = await prepareTasks();
    const first = await tasks.start();
    await administrationOf(plain(first.port)).createQueue('shared', {
      authorizationRules: [
        {
          claimType: 'SharedAccessKey',
          keyName: 'sender',
          accessRights: ['Send'],
          primaryKey: SENDER_KEY,
          secondaryKey: SENDER_KEY,
        },
      ],
    });
  });
  after(() => tasks.stop());

  function send(port: number, keyName: string, key: string): Promise<Response> {
    const { url } = addressed(port, 'shared/messages');
    const expiresAt = Date.now() + 60_000;
    const authorization = createSasToken({ audience: url, keyName, key, expiresAt });
    return fetch(url, { method: 'POST', headers: { authorization }, body: 'one' });
  }

  test('row 21: a rule that has used up its operations gets "server busy"; another is served', async () => {
    const { port } = await tasks.start({ env: { [GATEWAY_VARIABLES.operationsOfRule]: '0/3' } });
    for (let request = 0; request < 3; request++) {
      assert.equal((await send(port, 'sender', SENDER_KEY)).status, 201);
    }
    // A token that only claims to be of a rule uses up none of its operations.
    for (let request = 0; request < 5; request++) {
      assert.equal((await send(port, ROOT_RULE, 'wrong')).status, 401);
    }
    const refused = await send(port, 'sender', SENDER_KEY);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.match(await refused.text(), /Too many operations a second by this shared access rule/);
    assert.equal((await send(port, ROOT_RULE, ROOT_KEY)).status, 201);
  });

  test('row 21: the same limit holds over AMQP, where a link is refused as busy', async (t) => {
    const { port } = await tasks.start({ env: { [GATEWAY_VARIABLES.operationsOfRule]: '0/1' } });
    const client = RawAmqp.authenticated(port, 'sender', SENDER_KEY);
    t.after(() => client.destroy());
    const attach = (handle: number) =>
      client.say({
        kind: 'attach',
        name: `link ${handle}`,
        handle,
        role: 'sender',
        target: described(0x29n, list([str('shared')])),
      });
    attach(0);
    await client.hear('flow');
    attach(1);
    // Credit needs an open link.
    const said = await client.hear('detach', 'flow');
    const error = said.kind === 'detach' ? said.error : undefined;
    assert.equal(error?.condition, 'com.microsoft:server-busy');
    assert.match(error.description ?? '', /operations a second by this shared access rule/);
  });

  test('row 21: the access log has address, rule, path, outcome, bytes and time, and no token', async (t) => {
    const task = await tasks.start({ env: { [GATEWAY_VARIABLES.accessLog]: 'true' } });
    const { url, headers } = addressed(
      task.port,
      'shared/messages?api-version=2021-05&sig=inTheQuery',
    );
    await fetch(url, { method: 'POST', headers, body: 'three' });
    const isOf = (kind: string) => (line: object) => 'access' in line && line.access === kind;
    const { time, ms, bytesOut, ...request } = await task.untilLine(isOf('request'));
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.ok(Number(ms) >= 0 && Number(bytesOut) > 100);
    assert.deepEqual(request, {
      level: 'info',
      access: 'request',
      client: '127.0.0.1',
      method: 'POST',
      path: '/shared/messages',
      rule: ROOT_RULE,
      status: 201,
      bytesIn: 5,
    });
    const lock = addressed(task.port, 'shared/messages/1/00112233-4455-6677-8899-aabbccddeeff');
    await fetch(lock.url, { method: 'DELETE', headers: lock.headers });
    await task.untilLine(({ path }) => path === '/shared/messages/1/*');
    const client = RawAmqp.authenticated(task.port, 'sender', SENDER_KEY);
    t.after(() => client.destroy());
    const opened = { kind: 'attach', name: 'one', handle: 0, role: 'sender' } as const;
    client.say({ ...opened, target: described(0x29n, list([str('shared')])) });
    await client.hear('flow');
    const refused = { kind: 'attach', name: 'two', handle: 1, role: 'receiver' } as const;
    client.say({ ...refused, source: described(0x28n, list([str('shared')])) });
    await client.hear('detach');
    await task.untilLine((line) => isOf('link')(line) && line['outcome'] !== 'opened');
    const links = task.lines().filter(isOf('link'));
    assert.deepEqual(
      links.map(({ time: _, ...link }) => link),
      [
        { ...link('sender', 'opened'), rule: 'sender', ruleOf: 'shared' },
        { ...link('receiver', 'amqp:unauthorized-access'), claimedRule: 'sender' },
      ],
    );
    client.destroy();
    const ended = await task.untilLine(isOf('connection'));
    assert.ok(Number(ended['bytesIn']) > 0 && Number(ended['bytesOut']) > 0);
    assert.equal(ended['client'], '127.0.0.1');
    const log = JSON.stringify(task.lines());
    for (const secret of [ROOT_KEY, SENDER_KEY, 'inTheQuery', 'sig=', '00112233-4455']) {
      assert.ok(!log.includes(secret), secret);
    }
  });

  test('row 21: without the setting the log has no lines about requests of clients', async () => {
    const task = await tasks.start();
    assert.equal((await send(task.port, ROOT_RULE, ROOT_KEY)).status, 201);
    task.child.kill('SIGTERM');
    await task.ended;
    assert.deepEqual(
      task.lines().filter(({ access }) => access !== undefined),
      [],
    );
  });
});

function link(role: string, outcome: string) {
  const client = '127.0.0.1';
  return {
    level: 'info',
    access: 'link',
    client,
    role,
    path: '/shared',
    outcome,
  };
}

test('row 21: the rate of access log lines is bounded, and omitted lines are counted', () => {
  const { perSecond, burst } = BUDGETS.process.accessLines;
  let now = 0;
  let lines = 0;
  const log = new AccessLog(
    () => {
      lines += 1;
    },
    () => now,
  );
  for (let line = 0; line < burst + 7; line++) log.write('request', {});
  assert.deepEqual([lines, log.takeDropped(), log.takeDropped()], [burst, 7, 0]);
  now += 1000;
  for (let line = 0; line < 2 * perSecond; line++) log.write('request', {});
  assert.equal(lines, burst + perSecond);
});

test('row 21: the rule that a token claims is read as the token is, and its length is bounded', () => {
  const signed = 'SharedAccessSignature sr=a&sig=b&se=1&';
  assert.equal(claimedRuleOf(`${signed}skn=a%20rule `), 'a rule');
  assert.equal(claimedRuleOf(`${signed}a=\n&skn=first&s\u212an=last`), 'last');
  assert.equal(claimedRuleOf(`${signed}skn=${'x'.repeat(5000)}`)?.length, 256);
  const long = `${signed}skn=a${'& '.repeat(8000)}`;
  for (const none of [null, '', 'Bearer skn=a', signed, `${signed}skn=%`, long]) {
    assert.equal(claimedRuleOf(none), undefined);
  }
});

test('row 21: no name of a rule makes its key equal to that of a rule of another entity', () => {
  const named = (entity: string | undefined, name: string) => uniqueRuleKey({ entity, name });
  const keys = [
    ...[named(undefined, 'a'), named('q', 'a'), named('r', 'a')],
    ...[named(undefined, 'q a'), named(undefined, 'q\na'), named('q', '\na'), named('q/r', 'a')],
  ];
  assert.equal(new Set(keys).size, keys.length);
});

test('limits have defaults, and an invalid one stops the start', () => {
  const usual = readLimits({});
  assert.deepEqual(usual.newConnections, BUDGETS.address.newConnections);
  const set = { [GATEWAY_VARIABLES.requests]: '300/100', [GATEWAY_VARIABLES.openConnections]: '5' };
  const { requests, openConnections } = readLimits(set);
  assert.deepEqual([requests, openConnections], [{ perSecond: 300, burst: 100 }, 5]);
  for (const name of [GATEWAY_VARIABLES.requests, GATEWAY_VARIABLES.openConnections]) {
    assert.throws(() => readLimits({ [name]: 'many' }), new RegExp(`${name} is no`));
  }
});
