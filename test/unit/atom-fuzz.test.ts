import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { entry, ROOT, startAtom, token } from '../support/atom-client.ts';

/**
 * Whatever arrives is answered soon: taken, where it still makes sense, or refused with a 4xx and an
 * error body, and then nothing has changed. fast-check prints the seed of a failure.
 */
const RUNS = 2000;

const PARAMETER =
  '<KeyValueOfstringanyType><Key>@p</Key><Value i:type="d6p1:int" xmlns:d6p1="http://www.w3.org/2001/XMLSchema">1</Value></KeyValueOfstringanyType>';
const FILTER = `<Filter i:type="SqlFilter"><SqlExpression>a = @p</SqlExpression><Parameters>${PARAMETER}</Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET b = 'c'</SqlExpression></Action>`;
const RIGHTS = `<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Listen</AccessRights></Rights><KeyName>k</KeyName><PrimaryKey>${'A'.repeat(44)}</PrimaryKey></AuthorizationRule></AuthorizationRules>`;

/** Sound requests, one of each kind, to be spoilt. */
const SOUND = [
  {
    path: '/q',
    body: entry(
      'QueueDescription',
      `<LockDuration>PT30S</LockDuration><MaxSizeInMegabytes>2048</MaxSizeInMegabytes><RequiresSession>false</RequiresSession>${RIGHTS}<Status>Active</Status><UserMetadata>a &amp; b</UserMetadata>`,
    ),
  },
  {
    path: '/t',
    body: entry(
      'TopicDescription',
      '<DefaultMessageTimeToLive>P1D</DefaultMessageTimeToLive><SupportOrdering>true</SupportOrdering>',
    ),
  },
  {
    path: '/t/Subscriptions/s',
    body: entry(
      'SubscriptionDescription',
      `<LockDuration>PT30S</LockDuration><DefaultRuleDescription>${FILTER}<Name>n</Name></DefaultRuleDescription><ForwardTo>sb://localhost:5300/q</ForwardTo>`,
    ),
  },
  { path: '/t/Subscriptions/s/Rules/$Default', body: entry('RuleDescription', FILTER) },
] as const;

const ODD_TEXT = fc.oneof(
  fc.constantFrom(
    '',
    '<',
    '>',
    '&',
    '&#0;',
    '&#xFFFFFFF;',
    '&lol;',
    '<!DOCTYPE a [<!ENTITY lol "lol">]>',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?x ?>',
    '\u0000',
    '\u001b',
    '\ufffe',
    '\u202e',
    'xmlns=""',
    'xmlns:i="urn:other"',
    '/',
    '"',
    "'",
    '-1',
    '99999999999999999999999',
    'NaN',
    '1e999',
    'P99999999999999Y',
    'PT-1S',
    'PT1.99999999999999999999S',
    '__proto__',
    'constructor',
    '<LockDuration>PT1S</LockDuration>',
    '<a>'.repeat(100),
    '<a>'.repeat(5000),
    'x'.repeat(2000),
    'x'.repeat(200_000),
    '('.repeat(1000),
    '%2e%2e%2f',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** One way of spoiling a text: at some place, take something out and put something in. */
const SPOILING = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  takeOut: fc.oneof(fc.constant(0), fc.nat(30), fc.constant(Infinity)),
  putIn: ODD_TEXT,
});

type Spoiling = typeof SPOILING extends fc.Arbitrary<infer T> ? T : never;

function spoil(text: string, spoilings: readonly Spoiling[]): string {
  return spoilings.reduce((spoilt, { at, takeOut, putIn }) => {
    const place = Math.floor(at * spoilt.length);
    return spoilt.slice(0, place) + putIn + spoilt.slice(place + takeOut);
  }, text);
}

async function startWithEntities() {
  const atom = startAtom();
  for (const [path, kind] of [
    ['/q', 'QueueDescription'],
    ['/t', 'TopicDescription'],
    ['/t/Subscriptions/s', 'SubscriptionDescription'],
  ] as const) {
    await atom.call('PUT', path, { body: entry(kind) });
  }
  return atom;
}

test(`${RUNS} spoilt bodies end in a refusal or a sound answer, never in a fault`, async () => {
  const { call, parts } = await startWithEntities();
  const entities = () => [...parts.entities.byKey.values()];
  const refusals = { count: 0 };
  const spoilings = fc.array(SPOILING, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...SOUND),
      spoilings,
      fc.constantFrom('*', '"x"', undefined),
      async (sound, spoiled, ifMatch) => {
        const body = spoil(sound.body, spoiled);
        const before = entities();
        const startedAt = performance.now();
        const said = ifMatch === undefined ? { body } : { body, ifMatch };
        const { status, text } = await call('PUT', sound.path, said);
        assert.ok(performance.now() - startedAt < 1000, 'answered within a second');
        if (status < 300) return;
        refusals.count++;
        assert.ok(status >= 400 && status < 500, `status ${status}: ${text.slice(0, 300)}`);
        assert.match(
          text,
          /^<Error><Code>4\d\d<\/Code><Detail>.*TrackingId:.*<\/Detail><\/Error>$/s,
        );
        assert.ok(text.length < 2000, 'the refusal is no longer than a person reads');
        assert.deepEqual(entities(), before, 'nothing has changed');
      },
    ),
    { numRuns: RUNS },
  );
  assert.ok(refusals.count > RUNS / 2, `${refusals.count} were refused`);
});

test(`${RUNS} spoilt paths end in a refusal or a sound answer, never in a fault`, async () => {
  const { call } = await startWithEntities();
  const authorization = token('', ROOT);
  const methods = fc.constantFrom('GET', 'PUT', 'DELETE');
  const paths = fc.constantFrom(...SOUND, { path: '/$Resources/Queues?$skip=0&$top=10', body: '' });
  await fc.assert(
    fc.asyncProperty(
      methods,
      paths,
      fc.array(SPOILING),
      async (method, { path, body }, spoiled) => {
        // What a client can send at all: at most a few KB of ASCII on one line.
        const sent = encodeURI(
          spoil(path, spoiled)
            .slice(0, 4000)
            .replace(/\p{Surrogate}/gu, '?'),
        );
        const startedAt = performance.now();
        const said = method === 'PUT' ? { body } : {};
        const { status } = await call(method, `/${sent.replace(/^\/+/, '')}`, {
          ...said,
          authorization,
        });
        assert.ok(performance.now() - startedAt < 1000, 'answered within a second');
        assert.ok(status < 500 && (status < 300 || status >= 400), `${method} ${sent}: ${status}`);
      },
    ),
    { numRuns: RUNS },
  );
});
