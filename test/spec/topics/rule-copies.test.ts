import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import {
  createRule,
  createRuledSubscription,
  createSubscription,
  createTopic,
  drain,
  drainBodies,
  EVERYTHING,
  NOTHING,
  type RuleXml,
  removeRule,
  set,
  sql,
  subscription,
  updateRule,
} from '../../support/topic-entities.ts';
import { numbers } from '../queues/queue.ts';

const S = subscription('s');
const PLAIN = subscription('plain');

/** A topic with `plain`, which gets every message unchanged, and `s` with these rules in this order. */
async function start(t: TestContext, rules: Record<string, RuleXml>): Promise<TestBroker> {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, PLAIN);
  await createRuledSubscription(broker, S, rules);
  return broker;
}

const ORDER = { color: 'red', quantity: 10, priority: 'high' };

async function sendOrder(broker: TestBroker, properties: object = {}): Promise<void> {
  const UserProperties = { ...ORDER, ...properties };
  const BrokerProperties = { MessageId: 'order', Label: 'red' };
  expectStatus(await broker.sendBatch('t', [{ Body: 'x', BrokerProperties, UserProperties }]), 201);
}

/** The names of the rules that made copies; '' is the copy without a RuleName. */
function ruleNames(messages: readonly Received[]): string[] {
  return messages.map(({ properties }) => String(properties['RuleName'] ?? '')).toSorted();
}

test('#100 a new subscription has the rule $Default, which matches every message', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, S);
  const rule = await broker.request('GET', `${S}/rules/$Default`);
  expectStatus(rule, 200);
  assert.match(rule.text, /i:type="TrueFilter"><SqlExpression>1=1</);
  await sendOrder(broker);
  assert.deepEqual((await drain(broker, S))[0]?.properties, ORDER);
});

test('#100 a rule given when the subscription is created replaces $Default', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, S, {}, { filter: sql("color = 'blue'") });
  const feed = await broker.request('GET', `${S}/rules`);
  assert.equal(feed.text.match(/<entry/g)?.length, 1, feed.text);
  await sendOrder(broker);
  await sendOrder(broker, { color: 'blue' });
  assert.deepEqual(
    (await drain(broker, S)).map(({ properties }) => properties['color']),
    ['blue'],
  );
});

test('#101 two matching rules without actions make one copy, without RuleName', async (t) => {
  const red = { filter: sql("color = 'red'") };
  const broker = await start(t, { red, ten: { filter: sql('quantity = 10') } });
  await sendOrder(broker);
  const all = await drain(broker, S);
  assert.deepEqual(
    all.map(({ properties }) => properties),
    [ORDER],
  );
});

test('#101 of several rules without actions one match is enough for a copy', async (t) => {
  const never = { filter: NOTHING };
  const broker = await start(t, { never, blue: { filter: sql("color = 'blue'") } });
  await sendOrder(broker);
  await sendOrder(broker, { color: 'blue' });
  assert.equal((await drain(broker, S)).length, 1);
});

test('#102 two matching rules with actions and one without make three copies, two of them with RuleName', async (t) => {
  const broker = await start(t, {
    first: { filter: EVERYTHING, action: set('SET quantity = 1') },
    second: { filter: sql("color = 'red'"), action: set("SET color = 'green'") },
    plain: { filter: EVERYTHING },
  });
  await sendOrder(broker);
  const copies = await drain(broker, S);
  assert.deepEqual(
    new Map(copies.map(({ properties }) => [properties['RuleName'], properties])),
    new Map<unknown, object>([
      [undefined, ORDER],
      ['first', { ...ORDER, quantity: 1, RuleName: 'first' }],
      ['second', { ...ORDER, color: 'green', RuleName: 'second' }],
    ]),
  );
  assert.deepEqual(
    new Set(copies.map(({ broker: { MessageId } }) => MessageId)),
    new Set(['order']),
  );
  assert.equal(new Set(numbers(copies)).size, 3);
  assert.deepEqual(
    (await drain(broker, PLAIN)).map(({ properties }) => properties),
    [ORDER],
  );
});

test('#102 five matching rules, two of them with actions, make three copies', async (t) => {
  const plain = { filter: EVERYTHING };
  const acting = { filter: EVERYTHING, action: set('SET seen = TRUE') };
  const broker = await start(t, { a: plain, b: acting, c: plain, d: acting, e: plain });
  await sendOrder(broker);
  assert.deepEqual(ruleNames(await drain(broker, S)), ['', 'b', 'd']);
});

test('#102 a rule with an action makes no copy if it does not match', async (t) => {
  const action = set('SET seen = TRUE');
  const blue = { filter: sql("color = 'blue'"), action };
  const broker = await start(t, { blue, red: { filter: sql("color = 'red'"), action } });
  await sendOrder(broker);
  assert.deepEqual(ruleNames(await drain(broker, S)), ['red']);
});

test('#102 the sequence numbers of each subscription stay in order, however many copies it gets', async (t) => {
  const acting = { filter: EVERYTHING, action: set('SET seen = TRUE') };
  const broker = await start(t, { a: acting, b: acting, c: { filter: EVERYTHING } });
  const batch = Array.from({ length: 30 }, (_, i) => ({ Body: `${i}`, UserProperties: ORDER }));
  expectStatus(await broker.sendBatch('t', batch), 201);
  await sendOrder(broker);
  for (const [path, times] of [
    [S, 3],
    [PLAIN, 1],
  ] as const) {
    const all = await drain(broker, path);
    assert.deepEqual(
      all.map(({ body }) => body),
      [...batch.map(({ Body }) => Body), 'x'].flatMap((body) => Array(times).fill(body)),
    );
    const order = numbers(all);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(order).size, order.length);
  }
});

test('#103 a subscription without rules gets nothing', async (t) => {
  const broker = await start(t, {});
  await sendOrder(broker);
  assert.deepEqual(await drain(broker, S), []);
  assert.equal((await drain(broker, PLAIN)).length, 1);
});

test('#116 an action changes its own copy and no copy of another subscription', async (t) => {
  const action = set('SET quantity = quantity / 2; REMOVE priority');
  const broker = await start(t, { half: { filter: EVERYTHING, action } });
  await createSubscription(broker, subscription('more'));
  await sendOrder(broker);
  const [copy] = await drain(broker, S);
  assert.deepEqual(copy?.properties, { color: 'red', quantity: 5, RuleName: 'half' });
  for (const path of [PLAIN, subscription('more')]) {
    assert.deepEqual((await drain(broker, path))[0]?.properties, ORDER);
  }
});

test('#117 an action sets system properties', async (t) => {
  const action = set("SET sys.CorrelationId = 'low'; SET sys.Label = color; SET sys.To = @to", {
    '@to': ['string', 'there'],
  });
  const broker = await start(t, { r: { filter: EVERYTHING, action } });
  await sendOrder(broker, { color: 'violet' });
  const [copy] = await drain(broker, S);
  assert.ok(copy);
  const { CorrelationId, Label, To } = copy.broker;
  assert.deepEqual([CorrelationId, Label, To], ['low', 'violet', 'there']);
  const [plain] = await drain(broker, PLAIN);
  assert.deepEqual([plain?.broker['CorrelationId'], plain?.broker['Label']], [undefined, 'red']);
});

test('an action that sets ScheduledEnqueueTimeUtc does not delay its copy', async (t) => {
  const at = { '@at': ['dateTime', '2030-01-01T00:00:00Z'] } as const;
  const action = set('SET sys.ScheduledEnqueueTimeUtc = @at', at);
  const broker = await start(t, { r: { filter: EVERYTHING, action } });
  await sendOrder(broker);
  assert.deepEqual(await drainBodies(broker, S), ['x']);
});

test('an action that sets TimeToLive changes it for its copy only', async (t) => {
  const action = set('SET sys.TimeToLive = @ttl', { '@ttl': ['duration', 'PT5S'] });
  const broker = await start(t, { r: { filter: EVERYTHING, action } });
  await sendOrder(broker);
  broker.clock.advance({ seconds: 5 });
  assert.deepEqual(await drain(broker, S), []);
  assert.equal((await drain(broker, PLAIN)).length, 1);
});

test('#120 adding, changing or removing a rule affects only messages sent afterwards', async (t) => {
  const broker = await start(t, { red: { filter: sql("color = 'red'") } });
  const sendBoth = async () => {
    await sendOrder(broker, { color: 'red' });
    await sendOrder(broker, { color: 'blue' });
  };
  const colors = async () =>
    (await broker.peek(S)).map(({ properties }) => String(properties['color'])).join(' ');
  await sendBoth();
  assert.equal(await colors(), 'red');
  await createRule(broker, S, 'blue', { filter: sql("color = 'blue'") });
  assert.equal(await colors(), 'red');
  await sendBoth();
  assert.equal(await colors(), 'red red blue');
  await updateRule(broker, S, 'red', { filter: NOTHING });
  await sendBoth();
  assert.equal(await colors(), 'red red blue blue');
  await removeRule(broker, S, 'blue');
  await sendBoth();
  assert.equal(await colors(), 'red red blue blue');
});

test('the broker replaces the sender’s property RuleName in copies of rules with actions, and keeps it in others', async (t) => {
  const acting = { filter: EVERYTHING, action: set('SET seen = TRUE') };
  const broker = await start(t, { acting, quiet: { filter: EVERYTHING } });
  await sendOrder(broker, { RuleName: 'mine' });
  assert.deepEqual(ruleNames(await drain(broker, S)), ['acting', 'mine']);
});
