import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { isMore } from '../../runner/more.ts';
import { createPartitioned } from '../../spec/partitions/partitioned.ts';
import { drain, fill, KB, MODES, takeFrom, times } from '../../spec/wire/answers.ts';
import { startApp } from '../../support/http-fixture.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';

/** Row 7: messages whose JSON is many times as long as their bytes count in memory and time. */

const { printedBytes } = BUDGETS.request;
const LARGE = { MaxMessageSizeInKilobytes: '102400' };
const MB = 1024 * KB;
/** Each prints as 1.5 MB. */
const control = times(isMore() ? 12 : 7, () => ({ Body: '\u0001'.repeat(250 * KB) }));
const SENT = {
  'control characters': { messages: control, perBatch: 4 },
  'properties with long JSON': {
    messages: times(isMore() ? 300 : 200, () => ({
      Body: '',
      UserProperties: { x: '\u0001'.repeat(8 * KB) },
    })),
    perBatch: 100,
  },
};

for (const mode of MODES) {
  for (const [what, { messages, perBatch }] of Object.entries(SENT)) {
    test(`row 7: ${mode}: no answer is longer than its limit, and all messages with ${what} arrive`, async (t) => {
      const bus = await startBroker(t);
      expectStatus(await bus.createQueue('q'), 201);
      const sent = await fill(bus, 'q', messages, perBatch);
      const method = mode === 'peekLock' ? 'POST' : 'DELETE';
      const { text } = await bus.request(method, 'q/messages/head?maxMessages=1000');
      assert.ok(text.length <= printedBytes, `${text.length}`);
      const first = (JSON.parse(text) as { BrokerProperties: { MessageId: string } }[]).map(
        ({ BrokerProperties }) => BrokerProperties.MessageId,
      );
      assert.ok(first.length > 1 && first.length < sent.length);
      assert.deepEqual([...first, ...(await drain(bus, takeFrom('q', mode)))], sent);
    });
  }

  test(`row 7: ${mode}: the limit of an answer holds for all partitions together`, async (t) => {
    const bus = await startBroker(t);
    expectStatus(await createPartitioned(bus, 'p'), 201);
    const messages = times(isMore() ? 12 : 8, (i) => ({
      Body: '\u0001'.repeat(250 * KB),
      BrokerProperties: { PartitionKey: `key-${i}` },
    }));
    const sent = await fill(bus, 'p', messages, 1);
    const taken: number[] = [];
    const take = takeFrom('p', mode);
    const ids = await drain(bus, async () => {
      const some = await take(bus);
      taken.push(some.length);
      return some;
    });
    assert.deepEqual([...ids].sort(), [...sent].sort());
    assert.ok(Math.max(...taken) <= 5, taken.join(' '));
  });

  test(`row 7: ${mode}: a session delivers all messages in order, some in each answer`, async (t) => {
    const bus = await startBroker(t);
    expectStatus(await bus.createQueue('q', { RequiresSession: 'true' }), 201);
    const ofSession = control.map((message) => ({
      ...message,
      BrokerProperties: { SessionId: 's' },
    }));
    const sent = await fill(bus, 'q', ofSession, 4);
    const session = await acceptSession(bus, 'q', 's');
    const taken: number[] = [];
    const ids = await drain(bus, async () => {
      const some =
        mode === 'peekLock'
          ? await session.peekLockMany(1000)
          : await session.receiveAndDeleteMany(1000);
      taken.push(some.length);
      return some;
    });
    assert.deepEqual(ids, sent);
    assert.ok(Math.max(...taken) <= 5, taken.join(' '));
  });

  test(`row 7: ${mode}: a message above that limit arrives alone, and is read once`, async (t) => {
    const bus = await startBroker(t, { tier: 'Premium' });
    expectStatus(await bus.createQueue('q', LARGE), 201);
    expectStatus(await bus.send('q', new Uint8Array(7 * MB).fill(0xff)), 201);
    expectStatus(await bus.send('q', 'behind'), 201);
    const take = takeFrom('q', mode);
    let large: Awaited<ReturnType<typeof take>> = [];
    const { read } = await bus.units(async () => {
      large = await take(bus);
    });
    assert.deepEqual(
      large.map(({ body }) => Buffer.from(body, 'base64').length),
      [7 * MB],
    );
    // 7 MB in eventually consistent reads of 4 KB, and the other reads.
    assert.ok(read < 1.3 * ((7 * MB) / (8 * KB)), `${read}`);
    assert.equal((await take(bus)).length, 1);
  });
}

test('row 7: deferred messages that together exceed the limit arrive one by one', async (t) => {
  const bus = await startBroker(t, { tier: 'Premium' });
  expectStatus(await bus.createQueue('q', LARGE), 201);
  await fill(bus, 'q', control.slice(0, 6), 3);
  expectStatus(await bus.send('q', new Uint8Array(7 * MB).fill(0xff)), 201);
  const locked = [...(await bus.peekLockMany('q', 5)), ...(await bus.peekLockMany('q', 5))];
  locked.push(...(await bus.peekLockMany('q', 5)));
  await bus.settle(
    'q',
    locked.map(({ broker }) => ({ lockToken: broker.LockToken, outcome: 'defer' })),
  );
  const numbers = locked.map(({ broker }) => broker.SequenceNumber);
  assert.equal(numbers.length, 7);
  const refused = await bus.receiveDeferredRaw('q', numbers.slice(0, 6));
  expectStatus(refused, 403);
  assert.match(refused.text, /^.*The 6 messages take \d+ bytes.*name fewer/);
  const withLarge = await bus.receiveDeferredRaw('q', numbers.slice(5));
  expectStatus(withLarge, 403);
  assert.match(withLarge.text, /receive it alone/);
  assert.equal((await bus.receiveDeferred('q', numbers.slice(0, 5))).length, 5);
  assert.equal((await bus.receiveDeferred('q', numbers.slice(6))).length, 1);
});

/** How often receives and peeks of a message wait for a turn. */
async function turnsOfAnswers(bytes: number): Promise<number> {
  const waiting: (() => void)[] = [];
  class HeldTurns extends WorkTurns {
    override async next(): Promise<void> {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  }
  const { call, broker } = startApp({ workTurns: new HeldTurns(realScheduler) });
  const message = { body: new Uint8Array(bytes), messageId: 'm', properties: {} };
  broker.put('q', { message });
  broker.put('q', { message, state: 'Deferred' });
  broker.put('a/b', { message });
  let answered = 0;
  const deferred = JSON.stringify({ sequenceNumbers: [2] });
  const answers = [
    call('POST', '/q/messages/head?maxMessages=9'),
    call('DELETE', '/a/b/messages/head?maxMessages=9'),
    call('GET', '/q/messages'),
    call('POST', '/q/messages/$deferred', { body: deferred }),
  ].map((answer) =>
    answer.then(({ status }) => {
      answered++;
      return status;
    }),
  );
  while (waiting.length + answered < answers.length)
    await new Promise((resolve) => setImmediate(resolve));
  assert.equal(waiting.length + answered, answers.length);
  for (const goOn of waiting) goOn();
  assert.deepEqual(await Promise.all(answers), [201, 200, 200, 201]);
  return waiting.length;
}

test('row 12: potentially long answers are printed in turns, short ones at once', async () => {
  assert.equal(await turnsOfAnswers(BUDGETS.delivery.turnBytes), 4);
  assert.equal(await turnsOfAnswers(1000), 0);
});
