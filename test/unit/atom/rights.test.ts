import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, ROOT, startAtom, token } from '../../support/atom-client.ts';

const KEYS = { Send: 'S'.repeat(44), Listen: 'L'.repeat(44), Manage: 'M'.repeat(44) } as const;
const SECONDARY = 'Z'.repeat(44);
type Right = keyof typeof KEYS;

/** One authorization rule for each right, named after it. */
const RULES = `<AuthorizationRules>${Object.entries(KEYS)
  .map(
    ([right, key]) =>
      `<AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>${right}</AccessRights></Rights><KeyName>${right}</KeyName><PrimaryKey>${key}</PrimaryKey><SecondaryKey>${SECONDARY}</SecondaryKey></AuthorizationRule>`,
  )
  .join('')}</AuthorizationRules>`;

const QUEUE = entry('QueueDescription', RULES);
const TOPIC = entry('TopicDescription', RULES);
const SUBSCRIPTION = entry('SubscriptionDescription');
const RULE = entry('RuleDescription', '<Filter i:type="TrueFilter"/>');

async function startWithEntities() {
  const atom = startAtom();
  await atom.call('PUT', '/q', { body: QUEUE });
  await atom.call('PUT', '/t', { body: TOPIC });
  await atom.call('PUT', '/t/Subscriptions/s', { body: SUBSCRIPTION });
  return atom;
}

/** Each operation on an existing entity, the entity whose rules apply, and the rights that allow it. */
const OPERATIONS: readonly {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly ifMatch?: string;
  readonly scope: string;
  readonly rights: readonly Right[];
}[] = [
  { method: 'GET', path: '/q', scope: '/q', rights: ['Manage'] },
  { method: 'PUT', path: '/q', body: QUEUE, ifMatch: '*', scope: '/q', rights: ['Manage'] },
  { method: 'DELETE', path: '/q', scope: '/q', rights: ['Manage'] },
  { method: 'GET', path: '/t', scope: '/t', rights: ['Manage'] },
  { method: 'GET', path: '/t/Subscriptions', scope: '/t', rights: ['Manage'] },
  { method: 'GET', path: '/t/Subscriptions/s', scope: '/t', rights: ['Manage'] },
  {
    method: 'PUT',
    path: '/t/Subscriptions/s2',
    body: SUBSCRIPTION,
    scope: '/t',
    rights: ['Manage'],
  },
  { method: 'DELETE', path: '/t/Subscriptions/s', scope: '/t', rights: ['Manage'] },
  {
    method: 'GET',
    path: '/t/Subscriptions/s/Rules',
    scope: '/t',
    rights: ['Manage', 'Listen'],
  },
  {
    method: 'GET',
    path: '/t/Subscriptions/s/Rules/$Default',
    scope: '/t',
    rights: ['Manage', 'Listen'],
  },
  {
    method: 'PUT',
    path: '/t/Subscriptions/s/Rules/r',
    body: RULE,
    scope: '/t',
    rights: ['Manage'],
  },
  {
    method: 'DELETE',
    path: '/t/Subscriptions/s/Rules/$Default',
    scope: '/t',
    rights: ['Manage'],
  },
];

for (const { method, path, scope, rights, ...said } of OPERATIONS) {
  const call = async (authorization: string) => {
    const atom = await startWithEntities();
    const before = [...atom.dependencies.entities.byKey.values()];
    const answer = await atom.call(method, path, { ...said, authorization });
    if (answer.status >= 400) {
      assert.deepEqual(
        [...atom.dependencies.entities.byKey.values()],
        before,
        'nothing has changed',
      );
      assert.match(answer.text, /<Code>401<\/Code>.*TrackingId:/);
    }
    return answer.status;
  };

  test(`${method} ${path} is allowed with ${rights.join(' or ')}, by either key`, async () => {
    for (const right of ['Send', 'Listen', 'Manage'] as const) {
      for (const key of [KEYS[right], SECONDARY]) {
        const status = await call(token(scope, { keyName: right, key }));
        assert.equal(status < 300, rights.includes(right), `${right}: ${status}`);
      }
    }
    assert.ok((await call(token('', ROOT))) < 300);
    assert.ok((await call(token(path, ROOT))) < 300);
  });

  test(`${method} ${path} is refused with any other token`, async () => {
    const good = { keyName: 'Manage', key: KEYS.Manage };
    const refused = {
      'no token': '',
      'an expired token': token(scope, good, Date.now() - 1000),
      'a wrong key': token(scope, { ...good, key: KEYS.Send }),
      'an unknown rule': token(scope, { ...good, keyName: 'Other' }),
      'the scope of another entity': token('/other', good),
      'another scheme': 'Bearer abc',
    };
    for (const [what, authorization] of Object.entries(refused)) {
      assert.equal(await call(authorization), 401, what);
    }
  });
}

test('only rules of the namespace allow its lists, its name and creations', async () => {
  const { call } = await startWithEntities();
  const authorization = token('', { keyName: 'Manage', key: KEYS.Manage });
  for (const path of ['/$Resources/Queues', '/$Resources/Topics', '/$namespaceinfo']) {
    assert.equal((await call('GET', path, { authorization })).status, 401, path);
    assert.equal((await call('GET', path)).status, 200, path);
  }
  const body = entry('QueueDescription');
  assert.equal((await call('PUT', '/new', { body, authorization })).status, 401);
});

const ELEMENTS = {
  ForwardTo: 'ServiceBusSupplementaryAuthorization',
  ForwardDeadLetteredMessagesTo: 'ServiceBusDlqSupplementaryAuthorization',
} as const;

for (const [element, header] of Object.entries(ELEMENTS)) {
  test(`${element} needs Manage on the destination, in the token or in ${header}`, async () => {
    const { call } = await startWithEntities();
    await call('PUT', '/from', { body: entry('QueueDescription', RULES) });
    const body = entry('QueueDescription', `${RULES}<${element}>q</${element}>`);
    const own = token('/from', { keyName: 'Manage', key: KEYS.Manage });
    const put = async (headers: Record<string, string>, authorization = own) =>
      (await call('PUT', '/from', { body, ifMatch: '*', authorization, headers })).status;
    assert.equal(await put({}), 401);
    assert.equal(await put({ [header]: token('/q', { keyName: 'Send', key: KEYS.Send }) }), 401);
    assert.equal(
      await put({ [header]: token('/q', { keyName: 'Manage', key: KEYS.Manage }) }),
      200,
    );
    assert.equal(await put({}, token('', ROOT)), 200);
    // A token of the official clients: for the bare host, signed with the key of the namespace.
    assert.equal(await put({ [header]: token('', ROOT) }), 200);
  });
}
