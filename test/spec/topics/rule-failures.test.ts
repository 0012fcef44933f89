import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  correlation,
  counts,
  createRule,
  createRuledSubscription,
  createSubscription,
  createTopic,
  deadLettersOf,
  drain,
  drainBodies,
  EVERYTHING,
  putRule,
  putSubscription,
  type RuleXml,
  reasons,
  set,
  sql,
  subscription,
} from '../../support/topic-entities.ts';
import { bodies, lockAndSettle } from '../queues/queue.ts';

const S = subscription('s');
const OTHER = subscription('other');
const BOGUS = { filter: sql('sys.Bogus = 1') };

async function start(
  t: TestContext,
  rules: Record<string, RuleXml>,
  settings: Record<string, string> = {},
): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, OTHER);
  await createRuledSubscription(broker, S, rules, settings);
  return broker;
}

test('#112 #C10 #C6 a message on which a filter fails is dead-lettered with the exception’s name and message', async (t) => {
  const broker = await start(t, { odd: BOGUS });
  expectStatus(await broker.sendBatch('t', [{ Body: 'a' }, { Body: 'b' }]), 201);
  const found = await broker.peek(deadLettersOf(S));
  assert.deepEqual(bodies(found), ['a', 'b']);
  for (const { properties } of found) {
    assert.equal(properties['DeadLetterReason'], 'FilterException');
    assert.match(String(properties['DeadLetterErrorDescription']), /Bogus/);
  }
  assert.equal(await broker.peekLock(S), undefined);
  assert.deepEqual(await counts(broker, S), { Message: 2, DeadLetter: 2 });
  assert.deepEqual(await drainBodies(broker, OTHER), ['a', 'b']);
});

test('#113 without dead-lettering of filter errors, a message on which a filter fails is dropped for that subscription', async (t) => {
  const off = { DeadLetteringOnFilterEvaluationExceptions: 'false' };
  const broker = await start(t, { odd: BOGUS }, off);
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await counts(broker, S), {});
  assert.deepEqual(await broker.peek(deadLettersOf(S)), []);
  assert.deepEqual(await drainBodies(broker, OTHER), ['x']);
});

for (const [what, filter, properties] of [
  ['divides by zero', sql('10 / x = 1'), { x: 0 }],
  ['compares a text with a number', sql('x > 1'), { x: 'one' }],
] as const) {
  test(`#C10 a filter that ${what} fails for that message only`, async (t) => {
    const broker = await start(t, { odd: { filter } });
    const batch = [
      { Body: 'bad', UserProperties: properties },
      { Body: 'good', UserProperties: { x: 10 } },
    ];
    expectStatus(await broker.sendBatch('t', batch), 201);
    assert.deepEqual(await drainBodies(broker, S), ['good']);
    const [dead, ...more] = await broker.peek(deadLettersOf(S));
    assert.deepEqual([dead?.body, more.length], ['bad', 0]);
    assert.equal(dead?.properties['DeadLetterReason'], 'FilterException');
  });
}

test('#C10 a message on which an action fails is dead-lettered unchanged', async (t) => {
  const failing = { filter: EVERYTHING, action: set('SET x = missing') };
  const broker = await start(t, { failing });
  const batch = [{ Body: 'x', UserProperties: { own: 1 } }];
  expectStatus(await broker.sendBatch('t', batch), 201);
  assert.equal(await broker.peekLock(S), undefined);
  const [dead] = await broker.peek(deadLettersOf(S));
  assert.equal(dead?.properties['DeadLetterReason'], 'RuleActionException');
  assert.match(String(dead?.properties['DeadLetterErrorDescription']), /missing/);
  assert.equal(dead?.properties['own'], 1);
});

test('a rule that fails does not keep other rules from matching', async (t) => {
  const broker = await start(t, { odd: BOGUS, all: { filter: EVERYTHING } });
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual(await drainBodies(broker, S), ['x']);
});

test('a message on which several rules fail is dead-lettered once', async (t) => {
  const broker = await start(t, { odd: BOGUS, odder: { filter: sql('sys.Nothing = 2') } });
  expectStatus(await broker.send('t', 'x'), 201);
  assert.deepEqual((await reasons(broker, deadLettersOf(S))).length, 1);
});

test('a message that was dead-lettered by a failed filter is received and completed like any dead letter', async (t) => {
  const broker = await start(t, { odd: BOGUS });
  for (const body of ['a', 'b']) expectStatus(await broker.send('t', body), 201);
  await lockAndSettle(broker, 'complete', {}, deadLettersOf(S));
  const [b] = await drain(broker, deadLettersOf(S));
  assert.deepEqual([b?.body, b?.broker.DeliveryCount, b?.broker.SequenceNumber], ['b', 1, 2]);
});

const long = (length: number) => `x = '${'y'.repeat(length - "x = ''".length)}'`;
const statements = (count: number) =>
  Array.from({ length: count }, (_, i) => `SET a${i} = ${i}`).join(';');

/** Rules that are refused, and what the error says. */
const REFUSED: readonly (readonly [what: string, rule: RuleXml, sentence: RegExp])[] = [
  ['#118 a filter of 1,025 characters', { filter: sql(long(1025)) }, /1025 characters/],
  [
    '#118 an action of 1,025 characters',
    { filter: EVERYTHING, action: set(`SET ${long(1021)}`) },
    /1025 characters/,
  ],
  ['a filter that is not a predicate', { filter: sql('1') }, /not valid/],
  ['an incomplete filter', { filter: sql('a = ') }, /not valid/],
  ['an empty filter', { filter: sql('') }, /not valid/],
  ['a parameter without a value', { filter: sql('a = @missing') }, /@missing/],
  ['a correlation filter without conditions', { filter: correlation({}) }, /condition/],
  ['an invalid action', { filter: EVERYTHING, action: set('DROP TABLE x') }, /not valid/],
  ['an action of 33 statements', { filter: EVERYTHING, action: set(statements(33)) }, /32/],
];

for (const [what, rule, sentence] of REFUSED) {
  test(`${what} is refused, in a new rule and in the first rule of a new subscription`, async (t) => {
    const broker = await start(t, {});
    const refused = await putRule(broker, S, 'r', rule);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, sentence);
    assert.match(refused.text, /TrackingId:/);
    const first = { DefaultRuleDescription: `${rule.filter}${rule.action ?? ''}` };
    const answer = await putSubscription(broker, subscription('new'), first);
    assert.equal(answer.status, 400, answer.text);
    expectStatus(await broker.request('GET', subscription('new')), 404);
    expectStatus(await broker.send('t', 'x'), 201);
    assert.deepEqual(await counts(broker, S), {});
  });
}

test('#118 a filter of 1,024 characters and an action of 32 statements are accepted and work', async (t) => {
  const broker = await start(t, {});
  await createRule(broker, S, 'long', { filter: sql(long(1024)), action: set(statements(32)) });
  const x = /'(y+)'/.exec(long(1024))?.[1];
  expectStatus(await broker.sendBatch('t', [{ Body: 'x', UserProperties: { x } }]), 201);
  const [copy] = await drain(broker, S);
  assert.deepEqual(copy?.properties['a31'], { $long: '31' });
});

test('#119 rule names are unique and case-insensitive, and a rule that does not exist cannot be changed or removed', async (t) => {
  const broker = await start(t, { Reds: { filter: sql("color = 'red'") } });
  for (const name of ['Reds', 'reds']) {
    const again = await putRule(broker, S, name, { filter: EVERYTHING });
    assert.equal(again.status, 409, again.text);
    assert.equal(again.headers.get('x-dynabus-error'), 'MessagingEntityAlreadyExists');
    assert.match(again.text, /already exists/);
  }
  expectStatus(await broker.request('DELETE', `${S}/rules/blues`), 404);
  const change = await putRule(broker, S, 'blues', { filter: EVERYTHING }, { 'If-Match': '*' });
  assert.equal(change.status, 404, change.text);
  expectStatus(await broker.request('DELETE', `${S}/rules/REDS`), 200);
  expectStatus(await broker.request('DELETE', `${S}/rules/Reds`), 404);
});
