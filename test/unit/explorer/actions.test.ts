import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { subQueueOf } from '../../../client/entity-path.ts';
import { readMessage } from '../../../client/message.ts';
import { type Chosen, cancel, operateOn, resubmitOf } from '../../../explorer/actions/by-number.ts';
import { type JobProgress, type JobState, Jobs } from '../../../explorer/actions/jobs.ts';
import {
  exportQueue,
  resubmitAll,
  resubmitMatching,
} from '../../../explorer/actions/whole-queue.ts';
import { reasonOf } from '../../../explorer/messages/filter.ts';
import { ListedQueue, messageText, refusal } from './listed-queue.ts';

const DEAD_LETTERS = subQueueOf('orders', 'deadLetter');

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => messageText(i + 1, i % 2 === 0 ? 'Odd' : 'Even'));

/** Does a piece of work; returns how it ended. */
async function done(
  work: (progress: JobProgress, jobs: Jobs) => Promise<unknown>,
): Promise<JobState> {
  const jobs = new Jobs();
  await jobs.run({ title: 'Did', what: 'from q' }, async (progress) => {
    await work(progress, jobs);
  });
  const { value } = jobs.current;
  assert.ok(value !== undefined && !value.isRunning);
  return value;
}

const chosenOf = (queue: ListedQueue, more: Partial<Chosen> = {}): Chosen => ({
  caller: queue,
  path: DEAD_LETTERS,
  messages: queue.messages.map(readMessage),
  inSessions: false,
  ...more,
});

const sizes = (queue: ListedQueue) =>
  queue.calls.map(({ body = '{}' }) => {
    const request = JSON.parse(String(body)) as { readonly sequenceNumbers?: unknown[] };
    return request.sequenceNumbers?.length;
  });

test('messages are resubmitted a hundred in a call', async () => {
  const queue = new ListedQueue(numbered(250));
  const chosen = chosenOf(queue);
  const { done: count, problemCount } = await done((progress) => resubmitOf(chosen, progress));
  assert.deepEqual([count, problemCount, queue.messages.length], [250, 0, 0]);
  assert.deepEqual(sizes(queue), [100, 100, 50]);
});

test('of messages that stay when they are resubmitted, each is named with the reason', async () => {
  const queue = new ListedQueue(numbered(5));
  queue.keeps = (number) => number === 3n;
  const { done: count, problems } = await done((progress) => resubmitOf(chosenOf(queue), progress));
  assert.equal(count, 4);
  assert.deepEqual(
    problems.map(({ of }) => of),
    ['message 3'],
  );
  assert.match(problems[0]?.why ?? '', /locked/);
});

test('of messages that are gone when they are resubmitted, their number is told, without those that went', async () => {
  const queue = new ListedQueue(numbered(5));
  const chosen = chosenOf(queue);
  queue.messages = queue.messages.slice(2);
  queue.keeps = (number) => number === 3n;
  const { done: count, problems } = await done((progress) => resubmitOf(chosen, progress));
  assert.equal(count, 2);
  assert.deepEqual(
    problems.map(({ of }) => of),
    ['message 3', '2 messages'],
  );
  assert.equal(problems[1]?.why, 'They are not there any more.');
});

test('a message whose destination refuses it does not keep the others', async () => {
  const queue = new ListedQueue(numbered(3));
  queue.fail = ({ body = '' }) =>
    String(body).includes('[2]') || String(body).includes(',')
      ? refusal('MessageSizeExceeded')
      : undefined;
  const { done: count, problems } = await done((progress) => resubmitOf(chosenOf(queue), progress));
  assert.equal(count, 2);
  assert.deepEqual(problems, [{ of: 'message 2', why: 'Refused: MessageSizeExceeded.' }]);
});

test('work whose answer does not come ends with that error, and tells how far it was', async () => {
  const queue = new ListedQueue(numbered(250));
  queue.fail = () => (queue.calls.length > 1 ? new UnreachableError('No answer.') : undefined);
  const { done: count, error } = await done((progress) => resubmitOf(chosenOf(queue), progress));
  assert.equal(count, 100);
  assert.ok(error instanceof UnreachableError);
});

test('work that is stopped ends after the call that is under way', async () => {
  const queue = new ListedQueue(numbered(250));
  const state = await done((progress, jobs) => {
    queue.fail = () => {
      jobs.stop();
      return undefined;
    };
    return resubmitOf(chosenOf(queue), progress);
  });
  assert.deepEqual([state.done, state.isStopped], [100, true]);
});

test('while work goes on, no other begins', async () => {
  const jobs = new Jobs();
  let hasBegun = false;
  await jobs.run({ title: 'Did', what: 'from q', total: 1 }, async () => {
    await jobs.run({ title: 'Did', what: 'from q', total: 1 }, async () => {
      hasBegun = true;
    });
  });
  assert.ok(!hasBegun);
});

test('of very many problems the first 1,000 are kept, and all are counted', async () => {
  const { problems, problemCount } = await done(async (progress) => {
    for (let i = 0; i < 1_500; i++) progress.problem(`message ${i}`, 'It stays.');
  });
  assert.deepEqual([problems.length, problemCount], [1_000, 1_500]);
});

test('a message that is not deleted is named with the reason', async () => {
  const queue = new ListedQueue(numbered(3));
  queue.keeps = (number) => number === 2n;
  const { done: count, problems } = await done((progress) =>
    operateOn(chosenOf(queue), 'delete', progress),
  );
  assert.equal(count, 2);
  assert.deepEqual(problems, [{ of: 'message 2', why: 'It is locked, or not there any more.' }]);
});

test('messages of sessions are named with their session, those of each in calls of their own', async () => {
  const texts = [1, 2, 3].map((one) =>
    messageText(one, undefined, { SessionId: one === 2 ? 'b' : 'a' }),
  );
  const queue = new ListedQueue(texts);
  await done((progress) => operateOn(chosenOf(queue, { inSessions: true }), 'delete', progress));
  assert.deepEqual(
    queue.calls.map(({ query }) => query?.['sessionId']),
    ['a', 'b'],
  );
  assert.deepEqual(sizes(queue), [2, 1]);
});

test('scheduled messages of which one is gone are cancelled singly', async () => {
  const queue = new ListedQueue(numbered(3));
  queue.fail = ({ body = '' }) =>
    /\b2\b/.test(String(body)) ? refusal('MessageNotFound', 404) : undefined;
  const { done: count, problems } = await done((progress) => cancel(chosenOf(queue), progress));
  assert.equal(count, 2);
  assert.deepEqual(
    problems.map(({ of }) => of),
    ['message 2'],
  );
});

test('all dead letters are resubmitted, and no more than there were at the start', async () => {
  const queue = new ListedQueue(numbered(700));
  const whole = { caller: queue, path: DEAD_LETTERS, total: 600 };
  const { done: count } = await done((progress) => resubmitAll(whole, progress));
  assert.equal(count, 600);
  assert.equal(queue.messages.length, 100, 'what came after the start stays');
});

test('if an estimate was too low, the result says that there are more', async () => {
  const whole = { path: DEAD_LETTERS, total: 500, isEstimate: true };
  const all = new ListedQueue(numbered(501));
  const resubmitted = await done((progress) => resubmitAll({ ...whole, caller: all }, progress));
  assert.deepEqual([resubmitted.done, resubmitted.problemCount], [500, 1]);
  assert.match(resubmitted.problems[0]?.why ?? '', /there are more/);
  const some = new ListedQueue(numbered(501));
  const matched = await done((progress) =>
    resubmitMatching({ ...whole, caller: some }, () => true, progress),
  );
  assert.deepEqual([matched.done, matched.problemCount], [500, 1]);
  const exact = new ListedQueue(numbered(500));
  const nothingLeft = await done((progress) => resubmitAll({ ...whole, caller: exact }, progress));
  assert.equal(nothingLeft.problemCount, 0);
});

test('dead letters that are left since others came before them are told from their number on', async () => {
  const whole = { path: DEAD_LETTERS, total: 4 };
  const more = [{ of: 'messages from number 5 on', why: LEFT }];
  const inPage = new ListedQueue(numbered(6));
  const matched = await done((progress) =>
    resubmitMatching({ ...whole, caller: inPage }, () => true, progress),
  );
  assert.deepEqual([matched.done, matched.problems], [4, more]);
  const all = new ListedQueue(numbered(6));
  const resubmitted = await done((progress) => resubmitAll({ ...whole, caller: all }, progress));
  assert.deepEqual([resubmitted.done, resubmitted.problems], [4, more]);
});

const LEFT = 'They are left: there are more than when this began. Begin once more for them.';

test('dead letters that stay when all are resubmitted end the work with their number', async () => {
  const queue = new ListedQueue(numbered(10));
  queue.keeps = (number) => number > 7n;
  const whole = { caller: queue, path: DEAD_LETTERS, total: 10 };
  const { done: count, problems } = await done((progress) => resubmitAll(whole, progress));
  assert.equal(count, 7);
  assert.deepEqual(
    problems.map(({ of }) => of),
    ['3 messages'],
  );
});

test('a filter resubmits what it lets through, over the whole queue', async () => {
  const queue = new ListedQueue(numbered(900));
  const whole = { caller: queue, path: DEAD_LETTERS, total: 900 };
  const { done: count } = await done((progress) =>
    resubmitMatching(whole, (message) => reasonOf(message) === 'Even', progress),
  );
  assert.equal(count, 450);
  assert.ok(queue.messages.every((text) => reasonOf(readMessage(text)) === 'Odd'));
});

test('an export has every message in a line', async () => {
  const queue = new ListedQueue(numbered(600));
  let file: Blob | undefined;
  await done(async (progress) => {
    file = (await exportQueue(queue, DEAD_LETTERS, progress, () => {}))?.file;
  });
  assert.equal(await file?.text(), queue.messages.map((text) => `${text}\n`).join(''));
});

test('an export that is stopped makes no file', async () => {
  const queue = new ListedQueue(numbered(600));
  let file: Blob | undefined = new Blob([]);
  await done(async (progress, jobs) => {
    jobs.stop();
    file = (await exportQueue(queue, DEAD_LETTERS, progress, () => {}))?.file;
  });
  assert.equal(file, undefined);
});
