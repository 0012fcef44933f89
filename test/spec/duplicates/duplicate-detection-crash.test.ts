import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { crashingClient, type LastWrite, repeatingClient } from '../../support/crashing-client.ts';
import { FEW_ITEMS, MORE_THAN_A_TRANSACTION } from '../../support/small-limits.ts';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { type BatchMessage, expectStatus, type TestBroker } from '../../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  subscription,
} from '../../support/topic-entities.ts';
import { isoInstant, messageOf } from '../queues/queue.ts';

/**
 * A process crashes at each of its writes in turn, before or after the write takes effect, and the sender
 * repeats the send at another process: then each message is stored once.
 */

const DETECTING = { RequiresDuplicateDetection: 'true' };
/** More writes than any send of these tests makes. */
const WRITES_MAX = 40;

interface Case {
  readonly what: string;
  readonly batch: readonly BatchMessage[];
  /** What the sender sends after the crash; default: the same batch. */
  readonly again?: readonly BatchMessage[];
  /** What was sent before. */
  readonly before?: readonly BatchMessage[];
}

const message = (id: string, more: Record<string, unknown> = {}): BatchMessage =>
  messageOf(id, { MessageId: id, ...more });
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
    what: 'a batch that the sender repeats with other messages',
    batch: ['a', 'b', 'c'].map((id) => message(id)),
    again: ['d', 'c', 'a', 'b'].map((id) => message(id)),
  },
  {
    what: 'a batch of which the sender repeats one message',
    batch: ['a', 'b'].map((id) => message(id)),
    again: [message('b')],
  },
  {
    what: 'one message that the sender repeats in a batch',
    batch: [message('a')],
    again: ['b', 'a'].map((id) => message(id)),
  },
];

const idsOf = (batch: readonly BatchMessage[] = []): readonly string[] =>
  batch.map(({ Body }) => Body ?? '');

for (const one of CASES) {
  for (const when of ['before it', 'after it'] as const) {
    test(`${one.what} is stored once if the process crashes at any write, ${when}, and the sender repeats the send`, async (t) => {
      const { broker, beside, crashing } = await startCrashing(t);
      await eachWrite(crashing, when, async (write, crash) => {
        const queue = `q${write}`;
        expectStatus(await broker.createQueue(queue, DETECTING), 201);
        await trySend(beside, queue, one.before);
        const crashed = await crash(() => broker.sendBatch(queue, one.batch));
        await trySend(beside, queue, one.again ?? one.batch);
        beside.clock.advance({ seconds: 60 });
        const found = await drainBodies(beside, queue);
        requireOnce(found, one, crashed);
        return crashed;
      });
    });
  }
}

for (const one of CASES) {
  test(`${one.what} is stored once if each write is repeated because its answer was lost`, async (t) => {
    const client = repeatingClient();
    t.after(() => client.destroy());
    const beside = await startBroker(t);
    const broker = await startBroker(t, { beside, client });
    expectStatus(await beside.createQueue('q', DETECTING), 201);
    for (const batch of [one.before, one.batch, one.again]) await trySend(broker, 'q', batch);
    beside.clock.advance({ seconds: 60 });
    const ids = [one.before, one.batch, one.again].flatMap(idsOf);
    assert.deepEqual([...(await drainBodies(beside, 'q'))].sort(), [...new Set(ids)].sort());
  });
}

test('a scheduled message whose write transaction is repeated has the sequence number that the call returns', async (t) => {
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
  ['a message in more blocks than fit a transaction', MORE_THAN_A_TRANSACTION, [message('a')]],
  [
    'a batch in more blocks than fit a transaction',
    MORE_THAN_A_TRANSACTION,
    [message('a'), message('b')],
  ],
] as const) {
  for (const when of ['before it', 'after it'] as const) {
    test(`${what} is published once if the process crashes at any write, ${when}, and the sender repeats the send`, async (t) => {
      const { broker, beside, crashing } = await startCrashing(t, { limits: FEW_ITEMS });
      const paths = Array.from({ length: count }, (_, i) => subscription(`s${i}`));
      await createTopic(broker, 't', DETECTING);
      await createSubscriptions(broker, paths);
      await eachWrite(crashing, when, async (_, crash) => {
        const crashed = await crash(() => broker.sendBatch('t', batch));
        await trySend(beside, 't', batch);
        // The sweep completes the publication.
        beside.clock.advance({ minutes: 2 });
        await beside.sweep();
        for (const path of [paths[0] ?? '', paths[count - 1] ?? '']) {
          assert.deepEqual([...(await drainBodies(beside, path))].sort(), idsOf(batch));
        }
        beside.clock.advance({ minutes: 10 });
        return crashed;
      });
    });
  }
}

test('a scheduled message whose process crashes when it is due is delivered after the next send', async (t) => {
  const { broker, beside, crashing } = await startCrashing(t);
  await eachWrite(crashing, 'after it', async (write, crash) => {
    const queue = `q${write}`;
    expectStatus(await broker.createQueue(queue, DETECTING), 201);
    const dueAt = new Date(beside.clock.now() + 1000).toISOString();
    const batch = [message('a', { ScheduledEnqueueTimeUtc: dueAt })];
    // Just before the message is stored, a peek reads the schedule and removes the due time.
    const crashed = await crash(
      () => broker.sendBatch(queue, batch),
      async () => {
        beside.clock.advance({ seconds: 1 });
        await beside.peek(queue);
      },
    );
    await trySend(beside, queue, batch);
    assert.deepEqual(await drainBodies(beside, queue), crashed ? ['a'] : []);
    return crashed;
  });
});

async function startCrashing(t: TestContext, options: StartOptions = {}) {
  const { client, crashAt, restart } = crashingClient();
  t.after(() => client.destroy());
  const broker = await startBroker(t, { ...options, client });
  const beside = await startBroker(t, { ...options, beside: broker });
  return { broker, beside, crashing: { crashAt, restart } };
}

type Crash = (
  work: () => Promise<{ readonly status: number }>,
  meanwhile?: () => Promise<unknown>,
) => Promise<boolean>;

/** Runs a scenario once for each write of its work, until the work completes without a crash. */
async function eachWrite(
  crashing: Pick<ReturnType<typeof crashingClient>, 'crashAt' | 'restart'>,
  when: LastWrite,
  scenario: (write: number, crash: Crash) => Promise<boolean>,
): Promise<void> {
  let crashes = 0;
  for (let write = 1; write < WRITES_MAX; write++) {
    const crashed = await scenario(write, async (work, meanwhile) => {
      crashing.crashAt(write, when, meanwhile);
      const { status } = await work();
      const isCrash = crashing.restart();
      // Without a crash the send succeeds; with a crash after the last write it may succeed as well.
      if (!isCrash) assert.equal(status, 201);
      return isCrash;
    });
    if (!crashed) {
      assert.ok(crashes >= 2, `a send makes at least two writes, not ${crashes}`);
      return;
    }
    crashes++;
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

function requireOnce(found: readonly string[], { batch, again, before }: Case, crashed: boolean) {
  assert.equal(new Set(found).size, found.length, `stored twice: ${found}`);
  const asked = new Set([...idsOf(before), ...idsOf(again ?? batch)]);
  if (!crashed) for (const id of idsOf(batch)) asked.add(id);
  for (const id of asked) assert.ok(found.includes(id), `lost: ${id} of ${found}`);
  // Messages that were not repeated are stored with the rest of their batch or not at all.
  const left = idsOf(batch).filter((id) => !asked.has(id));
  assert.ok(left.every((id) => found.includes(id) === found.includes(left[0] ?? '')));
}
