import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../../runner/more.ts';
import type { Answer } from '../../support/api-client.ts';
import { entry } from '../../support/atom-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/**
 * Mutated requests over HTTP, against the real stores: each gets a response within a second, a 4xx with
 * an error body that changes nothing, or a success where it is still valid. `FUZZ_SEED` repeats a
 * run, `FUZZ_RUNS` makes more runs; fast-check shrinks and prints a failure.
 */

const RUNS = Number(process.env['FUZZ_RUNS'] || 300);
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
/** CPU time of this process, including the server: the load of the machine must not fail a test. */
const PROCESSOR_MS_MAX = 1000;
/** Reading the complete state costs several times as much as a mutated request. */
const REFUSALS_PER_LOOK = isMore() ? 10 : 20;

const QUEUE = entry(
  'QueueDescription',
  `<LockDuration>PT30S</LockDuration><MaxSizeInMegabytes>2048</MaxSizeInMegabytes><RequiresSession>false</RequiresSession><AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Listen</AccessRights></Rights><KeyName>k</KeyName><PrimaryKey>${'A'.repeat(44)}</PrimaryKey></AuthorizationRule></AuthorizationRules><Status>Active</Status><UserMetadata>a &amp; b</UserMetadata>`,
);
const RULE_ELEMENTS = `<Filter i:type="SqlFilter"><SqlExpression>a = @p</SqlExpression><Parameters><KeyValueOfstringanyType><Key>@p</Key><Value i:type="d6p1:int" xmlns:d6p1="http://www.w3.org/2001/XMLSchema">1</Value></KeyValueOfstringanyType></Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET b = 'c'</SqlExpression></Action>`;
const BILLING = 'events/Subscriptions/billing';

/** Valid requests, one of each kind, to mutate. */
const SOUND = [
  { path: 'orders', body: QUEUE },
  {
    path: 'events',
    body: entry('TopicDescription', '<DefaultMessageTimeToLive>P1D</DefaultMessageTimeToLive>'),
  },
  {
    path: BILLING,
    body: entry(
      'SubscriptionDescription',
      `<LockDuration>PT30S</LockDuration><DefaultRuleDescription>${RULE_ELEMENTS}<Name>n</Name></DefaultRuleDescription><ForwardTo>sb://localhost/orders</ForwardTo>`,
    ),
  },
  { path: `${BILLING}/Rules/$Default`, body: entry('RuleDescription', RULE_ELEMENTS) },
] as const;

const BOMB = `<!DOCTYPE a [<!ENTITY a "${'x'.repeat(50)}">${Array.from({ length: 9 }, (_, i) => `<!ENTITY a${i} "${'&a;'.repeat(10)}">`).join('')}]>`;

const ODD_TEXT = fc.oneof(
  fc.constantFrom(
    ...['', '<', '>', '&', '&#0;', '&#xFFFFFFF;', '&lol;', BOMB, '<![CDATA[', ']]>', '<!--'],
    ...['-->', '<?x ?>', '\u0000', '\u001b', '\ufffe', '\u202e', 'xmlns=""', '/', '"', "'", '-1'],
    ...['xmlns:i="urn:other"', '99999999999999999999999', 'NaN', '1e999', 'P99999999999999Y'],
    ...['PT-1S', 'PT1.99999999999999999999S', '__proto__', 'constructor', '%2e%2e%2f', '%ff'],
    ...['<LockDuration>PT1S</LockDuration>', '<a>'.repeat(100), '<a>'.repeat(5000)],
    ...['x'.repeat(2000), 'x'.repeat(200_000), '('.repeat(1000)],
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** A mutation of a text: removes some characters at a place and inserts others. */
const SPOILING = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  takeOut: fc.oneof(fc.constant(0), fc.nat(30), fc.constant(Number.POSITIVE_INFINITY)),
  putIn: ODD_TEXT,
});

type Spoiling = typeof SPOILING extends fc.Arbitrary<infer T> ? T : never;

function spoil(text: string, spoilings: readonly Spoiling[]): string {
  return spoilings.reduce((spoilt, { at, takeOut, putIn }) => {
    const place = Math.floor(at * spoilt.length);
    return spoilt.slice(0, place) + putIn + spoilt.slice(place + takeOut);
  }, text);
}

/** Creates the missing entities of the valid requests. */
async function restore(broker: TestBroker): Promise<void> {
  for (const [path, kind] of [
    ['orders', 'QueueDescription'],
    ['events', 'TopicDescription'],
    [BILLING, 'SubscriptionDescription'],
  ] as const) {
    const { status, text } = await broker.request('PUT', path, { body: entry(kind) });
    assert.ok(status === 201 || status === 409, text);
  }
}

/** The observable state that a request could change. */
async function picture(broker: TestBroker): Promise<readonly string[]> {
  const lists = ['$Resources/Queues', '$Resources/Topics', 'events/Subscriptions'];
  const answers = await Promise.all(
    [...lists, `${BILLING}/Rules`].map((path) => broker.request('GET', path)),
  );
  // A feed has the time of the response; nothing else in it may differ.
  return answers.map(({ text }) => text.replace(/<updated>.*?<\/updated>/, ''));
}

async function ask(
  broker: TestBroker,
  method: string,
  path: string,
  options: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  const before = process.cpuUsage();
  const answer = await broker.request(method, path, options);
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1000 < PROCESSOR_MS_MAX, 'answered within a second');
  return answer;
}

function requireRefusal({ status, text }: Answer): void {
  assert.ok(status >= 400 && status < 500, `status ${status}: ${text.slice(0, 300)}`);
  assert.match(text, /^<Error><Code>4\d\d<\/Code><Detail>.*TrackingId:.*<\/Detail><\/Error>$/s);
  assert.ok(text.length < 2000, 'the refusal is no longer than a person reads');
}

test(`${RUNS} mutated bodies are refused and change nothing, unless they are still valid (FUZZ_SEED=${SEED})`, async (t) => {
  const broker = await startBroker(t);
  await restore(broker);
  const all = await picture(broker);
  const items = new StoredItems(broker);
  t.after(() => items.close());
  const collections = new Map<string, string>();
  for (const { path } of SOUND) collections.set(path, await items.collectionOf(path));
  const stored = new Map<string, unknown>();
  const shown = new Map<string, string>();
  const show = async (path: string) => (await broker.request('GET', path)).text;
  const learn = async (path: string) => {
    const collection = collections.get(path) ?? assert.fail();
    stored.set(collection, await items.entitiesIn(collection));
    shown.set(path, await show(path));
  };
  // This costs a fraction of a GET of the description, so it follows each refusal.
  const requireStored = async (path: string) => {
    const collection = collections.get(path) ?? assert.fail();
    const entities = await items.entitiesIn(collection);
    assert.deepEqual(entities, stored.get(collection), `a refused PUT of ${path} stored nothing`);
  };
  const requireShown = async (path: string) =>
    assert.equal(await show(path), shown.get(path), `${path} has not changed`);
  for (const { path } of SOUND) await learn(path);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...SOUND),
      fc.array(SPOILING, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('*', '*', '"x"', undefined),
      async ({ path, body }, spoilings, ifMatch) => {
        const headers: Record<string, string> =
          ifMatch === undefined ? {} : { 'If-Match': ifMatch };
        const answer = await ask(broker, 'PUT', path, { body: spoil(body, spoilings), headers });
        if (answer.status < 300) {
          await learn(path);
          return;
        }
        requireRefusal(answer);
        refused++;
        await requireStored(path);
        if (isMore()) await requireShown(path);
        if (refused % REFUSALS_PER_LOOK === 0) {
          for (const other of shown.keys()) await requireShown(other);
        }
      },
    ),
    { numRuns: RUNS, seed: SEED, includeErrorInReport: true },
  );
  t.diagnostic(`${refused} of ${RUNS} were refused`);
  assert.ok(refused > RUNS / 2);
  for (const path of shown.keys()) await requireShown(path);
  if (refused === RUNS) assert.deepEqual(await picture(broker), all, 'nothing at all has changed');
});

test(`${RUNS} mutated paths are refused and change nothing, unless they are still valid (FUZZ_SEED=${SEED})`, async (t) => {
  const broker = await startBroker(t);
  const lists = { path: '$Resources/Queues?$skip=0&$top=10', body: '' };
  let refused = 0;
  await restore(broker);
  let before = await picture(broker);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'PUT', 'DELETE'),
      fc.constantFrom(...SOUND, lists),
      fc.array(SPOILING, { minLength: 1 }),
      async (method, { path, body }, spoilings) => {
        const sent = sendable(spoil(path, spoilings));
        const answer = await ask(broker, method, sent, method === 'PUT' ? { body } : {});
        if (method === 'GET' && answer.status < 300) return;
        if (answer.status < 300) {
          await restore(broker);
          before = await picture(broker);
          return;
        }
        assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${sent}: ${answer.text}`);
        assert.match(answer.headers.get('x-dynabus-error') ?? '', /^\w+$/);
        assert.match(answer.text, /"trackingId":"|TrackingId:/);
        refused++;
        if (refused % REFUSALS_PER_LOOK === 0) {
          assert.deepEqual(await picture(broker), before, 'nothing has changed');
        }
      },
    ),
    { numRuns: RUNS, seed: SEED, includeErrorInReport: true },
  );
  assert.deepEqual(await picture(broker), before, 'nothing has changed');
  t.diagnostic(`${refused} of ${RUNS} were refused`);
  assert.ok(refused > RUNS / 4);
});

/** A path that a client can send: at most a few KB of ASCII on one line. */
function sendable(path: string): string {
  const text = path.slice(0, 4000).replace(/\p{Surrogate}/gu, '?');
  return encodeURI(text).replace(/^\/+/, '').replaceAll('%25ff', '%ff');
}

test('a body far larger than any description is refused before it is read to its end', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.request('PUT', 'orders', { body: QUEUE }), 201);
  const before = (await broker.request('GET', 'orders')).text;
  for (const filler of ['x'.repeat(8_000_000), '<a>'.repeat(1_000_000)]) {
    const body = QUEUE.replace('PT30S', filler);
    const answer = await ask(broker, 'PUT', 'orders', { body, headers: { 'If-Match': '*' } });
    requireRefusal(answer);
    assert.match(answer.text, /131072 bytes/);
  }
  assert.equal((await broker.request('GET', 'orders')).text, before);
});
