import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IdleReceivers, startIdleReceivers } from '../../support/idle-receivers.ts';

/** What receivers that wait on empty logs ask of the database: at first, and once they have waited for some minutes. */

const MINUTE_MS = 60_000;
/** Receivers look more and more rarely at first. */
const SETTLE_MS = 15_000;
/** From then on they look less often. */
const CALM_AFTER_MS = 90_000;
const LOCK_MS = 300_000;
const QUEUE = { kind: 'queue', lockMs: LOCK_MS } as const;
const TOPIC = { kind: 'topic' } as const;

interface Place {
  readonly what: string;
  readonly create: (fixture: IdleReceivers) => Promise<string>;
  /** The most read units a minute, and their share of what the first minute costs. */
  readonly most: number;
  readonly share: number;
}

const PLACES: readonly Place[] = [
  {
    what: 'a queue',
    create: async ({ create }) => {
      await create('q', QUEUE);
      return 'q';
    },
    most: 21,
    share: 0.25,
  },
  {
    what: 'a subscription',
    create: async ({ create }) => {
      await create('t', TOPIC);
      await create('t/subscriptions/s', { kind: 'subscription', lockMs: LOCK_MS });
      return 't/subscriptions/s';
    },
    most: 25,
    share: 0.25,
  },
  {
    what: 'a dead-letter queue',
    create: async ({ create }) => {
      await create('q', QUEUE);
      return 'q/$deadletterqueue';
    },
    most: 18,
    share: 0.3,
  },
  {
    what: 'a queue of 16 partitions',
    create: async ({ create }) => {
      await create('q', { ...QUEUE, enablePartitioning: true });
      return 'q';
    },
    most: 310,
    share: 0.33,
  },
];

for (const { what, create, most, share } of PLACES) {
  test(`receivers on ${what} cost ${most} read units a minute once they have waited for some minutes`, async (t) => {
    const fixture = await startIdleReceivers(t);
    const path = await create(fixture);
    const waiting = Array.from({ length: 3 }, () => fixture.receive(path));
    await fixture.time.pass(SETTLE_MS);
    const first = await fixture.unitsDuring(MINUTE_MS - SETTLE_MS);
    await fixture.time.pass(CALM_AFTER_MS);
    const later = await fixture.unitsDuring(4 * MINUTE_MS);
    const perMinute = {
      first: (first.read * MINUTE_MS) / (MINUTE_MS - SETTLE_MS),
      later: later.read / 4,
    };
    t.diagnostic(JSON.stringify(perMinute));
    assert.equal(later.write, 0);
    assert.ok(perMinute.later <= most, `${perMinute.later} read units`);
    assert.ok(perMinute.later <= share * perMinute.first, JSON.stringify(perMinute));
    for (const one of waiting) await one.idle(0);
  });
}

test('the receivers of 20 queues share requests: a tenth of those of their first minute', async (t) => {
  const fixture = await startIdleReceivers(t);
  const paths = Array.from({ length: 20 }, (_, i) => `q${i}`);
  for (const path of paths) await fixture.create(path, QUEUE);
  for (const path of [...paths, ...paths]) fixture.receive(path);
  await fixture.time.pass(SETTLE_MS);
  const first = await fixture.unitsDuring(MINUTE_MS / 2);
  await fixture.time.pass(CALM_AFTER_MS);
  const later = await fixture.unitsDuring(MINUTE_MS / 2);
  assert.ok(later.requests <= first.requests / 10, `${first.requests}, ${later.requests} requests`);
  assert.ok(later.read <= first.read / 4, `${first.read}, ${later.read} read units`);
});
