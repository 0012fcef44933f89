import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { subQueueOf } from '../../../client/entity-path.ts';
import { SendOnce } from '../../../explorer/send/send-once.ts';
import { ListedQueue, refusal } from './listed-queue.ts';

const [Q, OTHER] = [subQueueOf('q', 'main'), subQueueOf('other', 'main')];

test('a send that is tried again after an error has the same key, any other one a new key', async () => {
  const queue = new ListedQueue([]);
  const once = new SendOnce();
  const lost = () => new UnreachableError('No answer.');
  queue.fail = lost;
  await assert.rejects(once.send(queue, Q, '{"Body":"a"}'), UnreachableError);
  await assert.rejects(once.send(queue, Q, '{"Body":"a"}'), UnreachableError);
  queue.fail = () => undefined;
  await once.send(queue, Q, '{"Body":"a"}');
  await once.send(queue, Q, '{"Body":"a"}');
  queue.fail = lost;
  await assert.rejects(once.send(queue, Q, '{"Body":"b"}'), UnreachableError);
  await assert.rejects(once.send(queue, OTHER, '{"Body":"b"}'), UnreachableError);
  const keys = queue.calls.map(({ headers }) => headers?.['Idempotency-Key']);
  const [first, second, third, fourth, fifth, sixth] = keys;
  assert.deepEqual([second, third], [first, first]);
  assert.equal(new Set([first, fourth, fifth, sixth]).size, 4);
  assert.match(String(first), /^[0-9a-f]{32}$/);
});

test('where keys are refused, as in the tier Basic, a message is sent without one', async () => {
  const queue = new ListedQueue([]);
  queue.fail = ({ headers }) =>
    headers?.['Idempotency-Key'] === undefined ? undefined : refusal('ArgumentError');
  const once = new SendOnce();
  await once.send(queue, Q, '{"Body":"a"}');
  await once.send(queue, Q, '{"Body":"b"}');
  const keyed = queue.calls.map(({ headers }) => headers?.['Idempotency-Key'] !== undefined);
  assert.deepEqual(keyed, [true, false, false]);
});

test('what is refused without a key, too, is the error, and the next send has a key again', async () => {
  const queue = new ListedQueue([]);
  queue.fail = () => refusal('ArgumentError');
  const once = new SendOnce();
  await assert.rejects(once.send(queue, Q, '{"Body":"a"}'), { code: 'ArgumentError' });
  queue.fail = () => undefined;
  await once.send(queue, Q, '{"Body":"b"}');
  assert.notEqual(queue.calls.at(-1)?.headers?.['Idempotency-Key'], undefined);
});
