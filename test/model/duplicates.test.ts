import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { crashingClient } from '../support/crashing-client.ts';
import { type FaultRates, startFaults } from '../support/fault-client.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { FEW_ITEMS } from '../support/small-limits.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { crashes, NO_FAULT, type ProcessFault, RetryingSender } from './support/retrying-sender.ts';

/**
 * Duplicate detection under failures. Several senders send each message, in batches that overlap, and
 * repeat each batch until it is accepted, through processes that crash and a database that loses requests
 * and answers. Meanwhile others receive. Each message arrives exactly once. The seed repeats all choices.
 */

const SEED = seedOfRun();
const MESSAGES = Number(process.env['DYNABUS_DUPLICATE_MESSAGES'] || (isMore() ? 300 : 220));
/** The largest batch needs several transactions. */
const SIZES = [1, 1, 1, 2, 3, 5, ...(isMore() ? [20, 100] : [10, 30])] as const;
const DETECTING = { RequiresDuplicateDetection: 'true' };
const DUE_MS = [1, 1000, 60_000] as const;

const RATES: readonly FaultRates[] = [
  { requestLost: 0.01, answerLost: 0.03, throttled: 0.01, failed: 0.01, slow: 0.05 },
  { requestLost: 0.02, answerLost: 0.06, throttled: 0.01, failed: 0.02, slow: 0.05 },
];

test(`each of ${MESSAGES} messages arrives exactly once although senders repeat their batches (seed ${SEED})`, async (t) => {
  const broker = await startBroker(t, { limits: FEW_ITEMS });
  expectStatus(await broker.createQueue('q', DETECTING), 201);
  const senders = await startSenders(t, broker);
  const work = new Work(new LoadRandom(`${SEED}:work`));
  const counts = new Map<string, number>();
  const take = async (from: TestBroker) => {
    const taken = await from.receiveAndDeleteMany('q', 200);
    for (const { body } of taken) counts.set(body, (counts.get(body) ?? 0) + 1);
    return taken.length;
  };
  let isOver = false;
  const receiver = async () => {
    const beside = await startBroker(t, { beside: broker, limits: FEW_ITEMS });
    while (!isOver) await take(beside);
  };
  const receiving = receiver();
  const sending = senders.map(async (sender) => {
    for (let next = work.next(broker.clock.now()); next; next = work.next(broker.clock.now())) {
      await sender.send('q', next.ids, next.dueAt);
      broker.clock.advance({ ms: 1 });
    }
  });
  await Promise.all(sending);
  isOver = true;
  await receiving;
  broker.clock.advance({ minutes: 2 });
  // A new process has no hints about earlier due times.
  const last = await startBroker(t, { beside: broker, limits: FEW_ITEMS });
  while ((await take(last)) > 0);

  const failures = senders.reduce((sum, sender) => sum + sender.failures, 0);
  t.diagnostic(`${work.batches} batches, ${work.sends} messages, ${failures} failures`);
  const wrong = work.ids.filter((id) => counts.get(id) !== 1);
  assert.deepEqual(
    wrong.slice(0, 20).map((id) => `${id}: ${counts.get(id) ?? 0} times`),
    [],
  );
  assert.equal(counts.size, MESSAGES);
  assert.ok(failures > 0, 'no send ever failed');
  assert.ok(work.sends > MESSAGES, 'no message ever had two senders');
});

/** Eight senders: two for each of two rates of database faults, and four whose processes crash. */
async function startSenders(t: TestContext, broker: TestBroker): Promise<RetryingSender[]> {
  const senders: RetryingSender[] = [];
  const add = (beside: TestBroker, fault: ProcessFault) =>
    senders.push(new RetryingSender(beside, fault, new LoadRandom(`${SEED}:${senders.length}`)));
  for (const [i, rates] of RATES.entries()) {
    const faults = startFaults();
    t.after(() => faults.client.destroy());
    const beside = await startBroker(t, {
      beside: broker,
      client: faults.client,
      limits: FEW_ITEMS,
    });
    for (let n = 0; n < 2; n++) add(beside, NO_FAULT);
    faults.start(`${SEED}:faults${i}`, rates);
  }
  for (let i = 0; i < 4; i++) {
    const crashing = crashingClient();
    t.after(() => crashing.client.destroy());
    const { client } = crashing;
    const beside = await startBroker(t, { beside: broker, client, limits: FEW_ITEMS });
    add(beside, crashes(crashing, 0.3));
  }
  return senders;
}

/** Hands out batches until each message was in at least one, and many messages in several. */
class Work {
  readonly ids = Array.from({ length: MESSAGES }, (_, i) => `m${i}`);
  batches = 0;
  sends = 0;
  readonly #random: LoadRandom;
  #begun = 0;

  constructor(random: LoadRandom) {
    this.#random = random;
  }

  next(now: number): { readonly ids: readonly string[]; readonly dueAt?: number } | undefined {
    if (this.#begun >= MESSAGES) return undefined;
    const random = this.#random;
    const fresh = this.ids.slice(this.#begun, this.#begun + random.pick(SIZES));
    // Other senders may be sending these at the same time.
    const recent = this.ids.slice(Math.max(0, this.#begun - 60), this.#begun);
    const again = recent.filter(() => random.chance(random.pick([0, 0, 0.1, 0.5])));
    this.#begun += fresh.length;
    const chosen = [...fresh, ...again];
    const ids = random.order(chosen.length).map((place) => chosen[place] ?? '');
    this.batches++;
    this.sends += ids.length;
    return random.chance(0.2) ? { ids, dueAt: now + random.pick(DUE_MS) } : { ids };
  }
}
