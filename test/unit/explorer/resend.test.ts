import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { subQueueOf } from '../../../client/entity-path.ts';
import { readMessage } from '../../../client/message.ts';
import { operateOn } from '../../../explorer/actions/by-number.ts';
import { Jobs } from '../../../explorer/actions/jobs.ts';
import { withResending } from '../../../explorer/actions/resend.ts';
import { MESSAGE_TABS } from '../../../explorer/messages/tabs.ts';
import { readEntity } from '../../../explorer/namespace/entity.ts';
import { ListedQueue, messageText } from './listed-queue.ts';

const lost = () => new UnreachableError('No answer.');

interface ResendSettings {
  readonly tabId?: string;
  readonly canSend?: boolean;
  readonly requiresDuplicateDetection?: boolean | undefined;
}

/** Deletes all messages of a tab of an entity; returns what is offered and sent then. */
async function deleteAll(
  queue: ListedQueue,
  kind: 'queue' | 'subscription',
  { tabId = 'active', canSend = true, ...settings }: ResendSettings = {},
) {
  const jobs = new Jobs();
  const json = { name: 'orders', kind, requiresDuplicateDetection: false, ...settings };
  const entity = readEntity(json, 'listen', canSend);
  const tab = MESSAGE_TABS.find(({ id }) => id === tabId);
  assert.ok(tab);
  const path = subQueueOf('orders', tab.subQueue);
  const messages = queue.messages.map(readMessage);
  await jobs.run({ title: 'Deleted', what: 'from q', total: messages.length }, (progress) =>
    withResending({ jobs, caller: queue, entity, tab }, progress, 'Send them again', (notes) =>
      operateOn({ caller: queue, path, messages, inSessions: false, ...notes }, 'delete', progress),
    ),
  );
  const ended = async () => {
    await new Promise<void>((resolve) => {
      const stop = jobs.current.listen(() => {
        if (jobs.current.value?.isRunning) return;
        stop();
        resolve();
      });
    });
  };
  const again = async () => {
    const end = ended();
    jobs.current.value?.offer?.run();
    await end;
  };
  return { jobs, again };
}

const sends = ({ calls }: ListedQueue) =>
  calls
    .filter(({ method, path }) => method === 'POST' && path === 'orders/messages')
    .map(({ headers, body }) => ({ body: String(body), key: headers?.['Idempotency-Key'] }));

test('what was deleted before an error, or perhaps by the call that failed, can be sent again', async () => {
  const texts = Array.from({ length: 150 }, (_, i) => messageText(i + 1));
  const queue = new ListedQueue(texts);
  let calls = 0;
  queue.fail = (call) => {
    if (calls++ !== 1) return undefined;
    // The second call has deleted all of its messages but the last one.
    queue.messages = queue.messages.slice(-1);
    assert.match(call.path, /delete/i);
    return lost();
  };
  const { jobs, again } = await deleteAll(queue, 'queue');
  assert.ok(jobs.current.value?.error instanceof UnreachableError);
  await again();
  assert.deepEqual(
    sends(queue).map(({ body }) => body),
    texts.slice(0, 100).map((text) => `[${text}]`),
    'those of which it is certain',
  );
  const { done, problems = [], offer } = jobs.current.value ?? {};
  assert.equal(done, 100);
  assert.deepEqual(problems.at(-1), { of: 'message 150', why: 'It was not removed.' });
  assert.match(problems[0]?.why ?? '', /^It is gone: .* a consumer has taken it/);
  assert.equal(offer?.title, 'Send 49 messages that a consumer may have taken');
  await again();
  assert.deepEqual(
    sends(queue).map(({ body }) => body),
    texts.slice(0, -1).map((text) => `[${text}]`),
  );
  assert.equal(jobs.current.value?.offer, undefined);
});

test('a scheduled message that is gone after a lost answer may be active under another number, and who sends it is told so', async () => {
  const queue = new ListedQueue([messageText(1, undefined, { State: 'Scheduled' })]);
  queue.fail = () => {
    queue.messages = [messageText(2)];
    queue.fail = () => undefined;
    return lost();
  };
  const { jobs, again } = await deleteAll(queue, 'queue', { tabId: 'scheduled' });
  await again();
  assert.deepEqual(sends(queue), []);
  const { problems, offer } = jobs.current.value ?? {};
  assert.match(problems?.[0]?.why ?? '', /it has become active under another number/);
  assert.equal(offer?.title, 'Send 1 message that may have become active');
});

test('after a lost answer the rest is sent, under the key of the first try', async () => {
  const queue = new ListedQueue([messageText(1), messageText(2), messageText(3)]);
  const { jobs, again } = await deleteAll(queue, 'queue');
  let tries = 0;
  queue.fail = () => (++tries === 2 ? lost() : undefined);
  await again();
  assert.deepEqual([jobs.current.value?.done, jobs.current.value?.total], [1, 3]);
  await again();
  const [one, two, twoAgain, three, ...more] = sends(queue);
  assert.deepEqual(twoAgain, two);
  assert.equal(new Set([one, two, three].map((sent) => sent?.key)).size, 3);
  assert.deepEqual(more, []);
});

test('nothing is offered where nobody can send to, or where ids are remembered, or may be', async () => {
  for (const [kind, settings] of [
    ['subscription', {}],
    ['queue', { tabId: 'dead-letter' }],
    ['queue', { requiresDuplicateDetection: true }],
    ['queue', { requiresDuplicateDetection: undefined }],
    ['queue', { canSend: false }],
  ] as const) {
    const { jobs } = await deleteAll(new ListedQueue([messageText(1)]), kind, settings);
    assert.equal(jobs.current.value?.done, 1);
    assert.equal(jobs.current.value?.offer, undefined, JSON.stringify([kind, settings]));
  }
});
