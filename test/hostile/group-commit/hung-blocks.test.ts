import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ReceivedMessage, ReceiveOptions } from '../../../shared/broker/broker.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { blockSortKey } from '../../../shared/storage/schema/message-keys.ts';
import { ask, comesTrue, message, Q, startProcess } from '../../support/composed-process.ts';
import { throttled } from '../../support/hooked-client.ts';
import { startPauses } from '../../support/pause-client.ts';
import { engineClient } from '../../support/start-broker.ts';

/** What receivers can get while a block of a shared claim has no answer, or other processes are faster. */

const LARGE = message('', { body: Buffer.alloc(100_000) });

/** Several receives share a claim, of which the first lock has no answer until `goOn`. */
async function startHung(
  t: TestContext,
  messages: readonly OutgoingMessage[],
  receivers: number,
  options: Partial<ReceiveOptions> = {},
) {
  const pauses = startPauses();
  const { client } = pauses;
  t.after(() => client.destroy());
  const { broker, management } = await startProcess(t, { client, memoryBytes: 2_000_000_000 });
  await management.create('q', { kind: 'queue' });
  // Blocks of their own.
  for (const one of messages) await broker.send(Q, [one]);
  const { reached, goOn } = pauses.pauseNext(({ command }) => command === 'UpdateItemCommand');
  const answers: (readonly ReceivedMessage[])[] = [];
  const calls = Array.from({ length: receivers }, async () => {
    const got = await broker.receive(Q, ask(options));
    answers.push(got);
    return got.length;
  });
  await reached;
  const queries = () => pauses.requests.filter(({ command }) => command === 'QueryCommand').length;
  return { broker, answers, calls, goOn, queries };
}

test('receivers of a single message that has no answer find those that come later', async (t) => {
  const { broker, answers, calls, goOn } = await startHung(t, [message('a')], 3);
  await broker.send(Q, [message('b'), message('c')]);
  const areAnswered = await comesTrue(() => answers.length === 2);
  goOn();
  assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
  assert.ok(areAnswered);
});

test('receivers for which a claim has no message find later ones while a block of it has no answer', async (t) => {
  const { broker, answers, calls, goOn } = await startHung(t, [message('a'), message('b')], 3);
  await broker.send(Q, [message('c')]);
  const areAnswered = await comesTrue(() => answers.length === 2);
  goOn();
  assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
  assert.ok(areAnswered);
});

test('a receiver that has found nothing else, and waits for the block, finds what comes then', async (t) => {
  const messages = [message('a'), message('b')];
  const hung = await startHung(t, messages, 3, { waitMs: 50_000 });
  const { broker, answers, calls, goOn, queries } = hung;
  const before = queries();
  const hasLooked = await comesTrue(() => queries() > before);
  await broker.send(Q, [message('c')]);
  const areAnswered = await comesTrue(() => answers.length === 2);
  goOn();
  assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
  assert.deepEqual([hasLooked, areAnswered], [true, true]);
});

test('receivers behind a large message that has no answer claim for themselves, and so do later ones', async (t) => {
  const messages = [LARGE, message('small'), message('small')];
  const { broker, answers, calls, goOn } = await startHung(t, messages, 2);
  const later = broker.receive(Q, ask({ waitMs: 50_000 }));
  let isLaterAnswered = false;
  void later.then(() => {
    isLaterAnswered = true;
  });
  const areAnswered = await comesTrue(() => isLaterAnswered && answers.length === 1);
  goOn();
  assert.deepEqual(await Promise.all(calls), [1, 1]);
  assert.ok(areAnswered);
});

test('a message that was dealt out and abandoned is received again meanwhile', async (t) => {
  const messages = [message('a'), message('b')];
  const { broker, answers, calls, goOn } = await startHung(t, messages, 2);
  assert.ok(await comesTrue(() => answers.length === 1));
  const [dealt] = answers[0] ?? [];
  assert.ok(dealt && 'lockToken' in dealt);
  await broker.settle(Q, [{ lockToken: dealt.lockToken, action: { kind: 'abandon' } }]);
  let again: readonly ReceivedMessage[] | undefined;
  void broker.receive(Q, ask()).then((got) => {
    again = got;
  });
  await comesTrue(() => again !== undefined);
  const [atOnce] = again ?? [];
  goOn();
  await Promise.all(calls);
  assert.equal(atOnce?.sequenceNumber, dealt.sequenceNumber);
});

type Write = () => Promise<unknown>;

/** A process, and another one, with a queue of messages in blocks of their own; `onWrite` may hold up their writes. */
async function startHeldUp(
  t: TestContext,
  texts: readonly string[],
  onWrite: (sequence: bigint, write: Write) => Promise<unknown>,
) {
  const client = engineClient();
  client.config.maxAttempts = async () => 1;
  t.after(() => client.destroy());
  const keys = new Map([1n, 2n, 3n].map((n) => [blockSortKey('live', n), n]));
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const { Key } = args.input as { Key?: Record<string, { readonly S?: string }> };
        const sequence = keys.get(Key?.['sk']?.S ?? '');
        const isWrite = commandName === 'UpdateItemCommand' || commandName === 'DeleteItemCommand';
        if (!isWrite || sequence === undefined) return await next(args);
        return (await onWrite(sequence, () => next(args))) as Awaited<ReturnType<typeof next>>;
      },
    { step: 'initialize', name: 'blocks' },
  );
  const { broker, management, clock, namespace } = await startProcess(t, { client });
  const other = await startProcess(t, { clock, namespace });
  await management.create('q', { kind: 'queue' });
  for (const text of texts) await broker.send(Q, [message(text)]);
  return { broker, other: other.broker };
}

function startGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test('a receiver whose block was not written, since the database was busy, gets its message meanwhile', async (t) => {
  const hung = startGate();
  let busy = 1;
  const { broker } = await startHeldUp(t, ['a', 'b', 'c'], async (sequence, write) => {
    if (sequence === 1n) await hung.opened;
    if (sequence === 2n && busy-- > 0) throw throttled();
    return await write();
  });
  let answered = 0;
  const calls = [0, 1, 2].map(async () => {
    const { length } = await broker.receive(Q, ask({ waitMs: 50_000 }));
    answered++;
    return length;
  });
  const areAnswered = await comesTrue(() => answered === 2);
  hung.open();
  assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
  assert.ok(areAnswered);
});

test('a receiver whose block another process took asks again while another block has no answer', async (t) => {
  const [hung, taken, reached] = [startGate(), startGate(), startGate()];
  const { broker, other } = await startHeldUp(t, ['a', 'b'], async (sequence, write) => {
    if (sequence === 1n) await hung.opened;
    if (sequence === 2n) {
      reached.open();
      await taken.opened;
    }
    return await write();
  });
  let answered = 0;
  const calls = [0, 1].map(async () => {
    await broker.receive(Q, ask());
    answered++;
  });
  await reached.opened;
  assert.equal((await other.receive(Q, ask({ maxMessages: 2 }))).length, 2);
  await broker.send(Q, [message('c')]);
  taken.open();
  const isAnswered = await comesTrue(() => answered === 1);
  hung.open();
  await Promise.all(calls);
  assert.ok(isAnswered);
});

test('a receive-and-delete whose block another process took does not hear that the outcome of another one is unknown', async (t) => {
  const mode = 'receiveAndDelete';
  const [taken, reached] = [startGate(), startGate()];
  const { broker, other } = await startHeldUp(t, ['a', 'b'], async (sequence, write) => {
    if (sequence === 2n) {
      reached.open();
      await taken.opened;
    }
    const answer = await write();
    if (sequence === 1n) {
      throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
    }
    return answer;
  });
  const calls = [0, 1].map(() => resultOf(broker.receive(Q, ask({ mode }))));
  await reached.opened;
  // The last one may already be removed for the other caller.
  let body = '';
  for (let tries = 0; body !== 'b' && tries < 5; tries++) {
    const [got] = await other.receive(Q, ask({ mode }));
    body = Buffer.from(got?.message.body ?? '').toString();
  }
  assert.equal(body, 'b');
  await broker.send(Q, [message('c')]);
  taken.open();
  const results = await Promise.all(calls);
  const got = results.flatMap((result) => ('error' in result ? [] : result.value));
  assert.equal(results.filter((result) => 'error' in result).length, 1);
  assert.deepEqual(
    got.map(({ message: { body } }) => Buffer.from(body).toString()),
    ['c'],
  );
});

for (const receivers of [2, 8]) {
  test(`#2 of ${receivers} receive-and-deletes of one message, one hears that its outcome is unknown`, async (t) => {
    const pauses = startPauses();
    const { client } = pauses;
    t.after(() => client.destroy());
    const { broker, management } = await startProcess(t, { client });
    await management.create('q', { kind: 'queue' });
    await broker.send(Q, [message('a')]);
    pauses.loseNextAnswer(({ command }) => command === 'DeleteItemCommand');
    const mode = 'receiveAndDelete';
    const calls = Array.from({ length: receivers }, () => broker.receive(Q, ask({ mode })));
    const results = await Promise.all(calls.map(resultOf));
    assert.equal(results.filter((result) => 'error' in result).length, 1);
  });
}
