import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { BrokerDependencies } from '../../shared/broker/dependencies.ts';
import type { LogBatch } from '../../shared/broker/ports/publication.ts';
import { route } from '../../shared/broker/routing/route.ts';
import { logOf } from '../../shared/domain/blocks/log.ts';
import {
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import { brotli } from '../../shared/storage/blocks/compression.ts';
import type { Item } from '../../shared/storage/dynamodb/table.ts';
import { publish } from '../../shared/storage/fan-out/publish.ts';
import { intentSortKey } from '../../shared/storage/schema/message-keys.ts';
import type { StoreContext } from '../../shared/storage/store-context.ts';
import { fakeEntity } from '../support/http-fixture.ts';

/** Row 22: each message of a batch with sessions becomes a block of its own in each subscription. */

const MESSAGES = 500;
const SUBSCRIPTIONS = 10;

const topic = { ...fakeEntity('t'), description: TOPIC_DEFAULTS };
const subscribed = Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
  entity: {
    ...fakeEntity(`t/subscriptions/s${i}`),
    description: { ...SUBSCRIPTION_DEFAULTS, requiresSession: true },
  },
  rules: [{ name: 'all', filter: { kind: 'true' }, createdAt: 0 }],
}));

/** Counts the steps within one turn, by kind. */
function countedTurns() {
  const most: Record<string, number> = {};
  let turn: Record<string, number> = {};
  return {
    most,
    count: (what: string) => {
      const done = (turn[what] ?? 0) + 1;
      turn[what] = done;
      most[what] = Math.max(most[what] ?? 0, done);
    },
    workTurns: {
      next: async () => {
        turn = {};
      },
    },
  };
}

/** Counts the elements of arrays that are copied or iterated. */
function countElements(t: TestContext) {
  let elements = 0;
  const values = Array.prototype[Symbol.iterator];
  t.after(() => {
    Array.prototype[Symbol.iterator] = values;
  });
  Array.prototype[Symbol.iterator] = function (this: unknown[]) {
    elements += this.length;
    return values.call(this);
  };
  return () => elements;
}

async function routed({ workTurns, count }: ReturnType<typeof countedTurns>, length = MESSAGES) {
  const dependencies = {
    subscriptions: { of: async () => subscribed },
    messages: { takeNumbers: async () => 0n },
    clock: { now: () => 0 },
    monotonicNow: () => 0,
    workTurns,
    soon: (work: () => void) => setImmediate(work),
  } as unknown as BrokerDependencies;
  const messages = Array.from({ length }, (_, i) => ({
    messageId: 'x',
    get sessionId() {
      count('session looked at');
      return `${i}`;
    },
    body: new Uint8Array(),
    properties: {},
  }));
  return await route(dependencies, topic, messages, 'sent', 0);
}

/** Publishes; returns the items of single puts, and the time of each. */
async function published(
  { workTurns, count }: ReturnType<typeof countedTurns>,
  batches: readonly LogBatch[],
  clock = { now: () => 0 },
): Promise<readonly { readonly item: Item; readonly at: number }[]> {
  const written: { item: Item; at: number }[] = [];
  const table = {
    name: 'messages',
    put: async (item: Item) => {
      written.push({ item, at: clock.now() });
      return { done: true };
    },
    update: async () => ({ done: true }),
    transact: async () => ({ done: true }),
    putMany: async () => {},
    deleteMany: async () => {},
  };
  const context = {
    table,
    workTurns,
    compression: brotli,
    clock,
    random: {
      bytes: (bytes: number) => {
        count('listing');
        return new Uint8Array(bytes);
      },
    },
    scanHints: { noteBlock: () => count('block announced') },
    wake: () => {},
    addDueWork: async () => {},
  } as unknown as StoreContext;
  await publish(context, { owner: logOf(topic, 'main', 0), batches, enqueuedAt: 0 });
  return written;
}

test('row 22: the work for copies with many sessions grows linearly with their number', async (t) => {
  const turns = countedTurns();
  const elements = countElements(t);
  const elementsOf = async (length: number) => {
    const before = elements();
    const batches = await routed(turns, length);
    assert.equal(batches.length, length * SUBSCRIPTIONS);
    await published(turns, batches);
    return elements() - before;
  };
  const [few, many] = [await elementsOf(MESSAGES / 4), await elementsOf(MESSAGES)];
  assert.ok(many <= 4.5 * few, `${many / few} times as many for 4 times the messages`);
});

test('row 22: other clients have their turns while copies with many sessions are routed and stored', async () => {
  const [routing, publishing] = [countedTurns(), countedTurns()];
  const batches = await routed(routing);
  const looks = routing.most['session looked at'] ?? 0;
  assert.ok(looks > 0 && looks <= 4 * 1000, `${looks} looks within one turn`);
  await published(publishing, batches);
  assert.equal(publishing.most['listing'], 20);
  assert.equal(publishing.most['block announced'], 20);
});

test('row 22: the time of a publication is when it is prepared, however long it waited for its turns', async () => {
  const batches = await routed(countedTurns(), 20);
  let now = 1000;
  const turns = countedTurns();
  const workTurns = {
    next: async () => {
      now += 1000;
    },
  };
  const written = await published({ ...turns, workTurns }, batches, { now: () => now });
  const plan = written.find(({ item }) => item['d'] !== undefined);
  assert.ok(plan !== undefined && plan.at > 61_000);
  const begun = intentSortKey(plan.at, '');
  assert.equal(plan.item['sk']?.S?.slice(0, begun.length), begun);
});
