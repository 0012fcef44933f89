import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type LastWrite, mortalClient, repeatingClient } from '../../support/mortal-client.ts';
import { FEW_ITEMS, MORE_THAN_A_TRANSACTION } from '../../support/small-limits.ts';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  subscription,
} from '../../support/topic-entities.ts';
import { isoInstant, withBroker } from '../queues/queue.ts';

/**
 * A process dies at each of its writes in turn, before or after it took effect, and the sender tries
 * again with somebody else: then each message is there once.
 */

const DETECTING = { RequiresDuplicateDetection: 'true' };
/** A step more than any send here has. */
const WRITES_MAX = 40;

interface Case {
  readonly what: string;
  readonly batch: readonly BatchMessage[];
  /** What the sender tries after the crash; the same, if it is not said. */
  readonly again?: readonly BatchMessage[];
  /** What is known before. */
  readonly before?: readonly BatchMessage[];
}

const message = (id: string, more: Record<string, unknown> = {}): BatchMessage =>
  withBroker(id, { MessageId: id, ...more });
const LATER = { ScheduledEnqueueTimeUtc: isoInstant({ seconds: 60 }) };
const large = (id: string): BatchMessage => ({
  ...message(id),
  UserProperties: { noise: noise(id) },
});

/** Text that is too long for a block and cannot be compressed. */
function noise(seed: string): string {
  let state = [...seed].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7);
  return Array.from({ length: 2000 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCharCode(33 + ((state >>> 16) % 90));
  }).join('');
}

const CASES: readonly Case[] = [
  { what: 'one message', batch: [message('a')] },
  { what: 'one large message', batch: [large('a')] },
  { what: 'one scheduled message', batch: [message('a', LATER)] },
  { what: 'a batch', batch: ['a', 'b', 'c'].map((id) => message(id)) },
  { what: 'a batch of large ones', batch: ['a', 'b', 'c'].map(large) },
  { what: 'a batch with scheduled ones', batch: [message('a', LATER), message('b'), message('c')] },
  {
    what: 'a batch with duplicates of earlier ones',
    before: [message('b'), message('x')],
    batch: ['a', 'b', 'c', 'x'].map((id) => message(id)),
  },
  {
    what: 'a batch of which the sender tries other parts again',
    batch: ['a', 'b', 'c'].map((id) => message(id)),
    again: ['d', 'c', 'a', 'b'].map((id) => message(id)),
  },
  {
    what: 'a batch of which the sender tries a single one again',
    batch: ['a', 'b'].map((id) => message(id)),
    again: [message('b')],
  },
  {
    what: 'one message that the sender tries again in a batch',
    batch: [message('a')],
    again: ['b', 'a'].map((id) => message(id)),
  },
];

const IDS = (batch: readonly BatchMessage[] = []): readonly string[] =>
  batch.map(({ Body }) => Body ?? '');

for (const one of CASES) {
  for (const when of ['before it', 'after it'] as const) {
    test(`${one.what}, the process dies at any write, ${when}: the next try leaves one of each`, async (t) => {
      const { broker, beside, mortal } = await startMortal(t);
      await eachWrite(mortal, when, async (write, die) => {
        const queue = `q${write}`;
        expectStatus(await broker.createQueue(queue, DETECTING), 201);
        await trySend(beside, queue, one.before);
        const died = await die(() => broker.sendBatch(queue, one.batch));
        await trySend(beside, queue, one.again ?? one.batch);
        beside.clock.advance({ seconds: 60 });
        const found = await drainBodies(beside, queue);
        requireOnce(found, one, died);
        return died;
      });
    });
  }
}

for (const one of CASES) {
  test(`${one.what}, each write of it is repeated, since its answer was lost: one of each`, async (t) => {
    const client = repeatingClient();
    t.after(() => client.destroy());
    const beside = await startBroker(t);
    const broker = await startBroker(t, { beside, client });
    expectStatus(await beside.createQueue('q', DETECTING), 201);
    for (const batch of [one.before, one.batch, one.again]) await trySend(broker, 'q', batch);
    beside.clock.advance({ seconds: 60 });
    const ids = [one.before, one.batch, one.again].flatMap(IDS);
    assert.deepEqual([...(await drainBodies(beside, 'q'))].sort(), [...new Set(ids)].sort());
  });
}

test('a message whose transaction is repeated is scheduled under the number that is answered', async (t) => {
  const client = repeatingClient();
  t.after(() => client.destroy());
  const beside = await startBroker(t);
  const broker = await startBroker(t, { beside, client });
  expectStatus(await beside.createQueue('q', DETECTING), 201);
  const batches = [[message('a', LATER)], [message('b', LATER), message('c', LATER)]];
  for (const batch of batches) {
    const numbers = await broker.schedule('q', batch);
    const shown = await beside.peek('q', { from: numbers[0] ?? 0 });
    assert.deepEqual(
      shown.map(({ body, broker: { SequenceNumber } }) => [body, SequenceNumber]),
      batch.map(({ Body }, i) => [Body, numbers[i]]),
    );
  }
});

for (const [what, count, batch] of [
  ['a message to two subscriptions', 2, [message('a')]],
  ['a batch to two subscriptions', 2, [message('a'), message('b'), message('c', LATER)]],
  ['a message in more blocks than a transaction takes', MORE_THAN_A_TRANSACTION, [message('a')]],
  [
    'a batch in more blocks than a transaction takes',
    MORE_THAN_A_TRANSACTION,
    [message('a'), message('b')],
  ],
] as const) {
  for (const when of ['before it', 'after it'] as const) {
    test(`${what}, the process dies at any write, ${when}: all get one of each`, async (t) => {
      const { broker, beside, mortal } = await startMortal(t, { limits: FEW_ITEMS });
      const paths = Array.from({ length: count }, (_, i) => subscription(`s${i}`));
      await createTopic(broker, 't', DETECTING);
      await createSubscriptions(broker, paths);
      await eachWrite(mortal, when, async (_, die) => {
        const died = await die(() => broker.sendBatch('t', batch));
        await trySend(beside, 't', batch);
        // What was left half done is the sweep's.
        beside.clock.advance({ minutes: 2 });
        await beside.sweep();
        for (const path of [paths[0] ?? '', paths[count - 1] ?? '']) {
          assert.deepEqual([...(await drainBodies(beside, path))].sort(), IDS(batch));
        }
        beside.clock.advance({ minutes: 10 });
        return died;
      });
    });
  }
}

test('a scheduled message whose sender died as it came due comes after the next try', async (t) => {
  const { broker, beside, mortal } = await startMortal(t);
  await eachWrite(mortal, 'after it', async (write, die) => {
    const queue = `q${write}`;
    expectStatus(await broker.createQueue(queue, DETECTING), 201);
    const dueAt = new Date(beside.clock.now() + 1000).toISOString();
    const batch = [message('a', { ScheduledEnqueueTimeUtc: dueAt })];
    // Somebody looks for what is due just before the message is there, and strikes the due time off.
    const died = await die(
      () => broker.sendBatch(queue, batch),
      async () => {
        beside.clock.advance({ seconds: 1 });
        await beside.peek(queue);
      },
    );
    await trySend(beside, queue, batch);
    assert.deepEqual(await drainBodies(beside, queue), died ? ['a'] : []);
    return died;
  });
});

async function startMortal(t: TestContext, options: StartOptions = {}) {
  const { client, dieAt, revive } = mortalClient();
  t.after(() => client.destroy());
  const broker = await startBroker(t, { ...options, client });
  const beside = await startBroker(t, { ...options, beside: broker });
  return { broker, beside, mortal: { dieAt, revive } };
}

type Die = (
  work: () => Promise<{ readonly status: number }>,
  meanwhile?: () => Promise<unknown>,
) => Promise<boolean>;

/** Runs a story once for each write that the work in it makes; it ends where the work survives. */
async function eachWrite(
  mortal: Pick<ReturnType<typeof mortalClient>, 'dieAt' | 'revive'>,
  when: LastWrite,
  story: (write: number, die: Die) => Promise<boolean>,
): Promise<void> {
  let deaths = 0;
  for (let write = 1; write < WRITES_MAX; write++) {
    const died = await story(write, async (work, meanwhile) => {
      mortal.dieAt(write, when, meanwhile);
      const { status } = await work();
      const isDead = mortal.revive();
      // Whoever lives on has stored it; a death may come after the last word.
      if (!isDead) assert.equal(status, 201);
      return isDead;
    });
    if (!died) {
      assert.ok(deaths >= 2, `a send makes two writes at least, not ${deaths}`);
      return;
    }
    deaths++;
  }
  assert.fail(`a send makes more than ${WRITES_MAX} writes`);
}

async function trySend(
  broker: TestBroker,
  path: string,
  batch: readonly BatchMessage[] | undefined,
): Promise<void> {
  if (batch !== undefined) expectStatus(await broker.sendBatch(path, batch), 201);
}

function requireOnce(found: readonly string[], { batch, again, before }: Case, died: boolean) {
  assert.equal(new Set(found).size, found.length, `doubled: ${found}`);
  const asked = new Set([...IDS(before), ...IDS(again ?? batch)]);
  if (!died) for (const id of IDS(batch)) asked.add(id);
  for (const id of asked) assert.ok(found.includes(id), `lost: ${id} of ${found}`);
  // What was not tried again went with its batch, whole or not at all.
  const left = IDS(batch).filter((id) => !asked.has(id));
  assert.ok(left.every((id) => found.includes(id) === found.includes(left[0] ?? '')));
}
