import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { subQueueOf } from '../../../client/entity-path.ts';
import { readMessage } from '../../../client/message.ts';
import { CopySender } from '../../../explorer/send/copy-sender.ts';
import { draftOf } from '../../../explorer/send/draft.ts';
import { ListedQueue, messageText } from './listed-queue.ts';

const TEXT = messageText(7, 'Declined');
const DEAD_LETTERS = subQueueOf('orders', 'deadLetter');

/** The sender of a dead letter, and what it does with a queue. */
function startCopy() {
  const queue = new ListedQueue([TEXT]);
  const message = readMessage(TEXT);
  const sender = new CopySender(queue, DEAD_LETTERS, message);
  const sent = () => queue.calls.filter(({ path }) => path === 'orders/messages').length;
  return { queue, sender, draft: draftOf(message), sent };
}

test('a copy is sent, then its dead letter is deleted', async () => {
  const { queue, sender, draft, sent } = startCopy();
  const said = await sender.send('orders', draft);
  assert.equal(said, 'Sent a copy of message 7 to orders, and deleted the dead letter.');
  assert.deepEqual([sent(), queue.messages], [1, []]);
});

test('of a dead letter that is gone, no copy is sent', async () => {
  const { queue, sender, draft, sent } = startCopy();
  queue.messages = [];
  await assert.rejects(sender.send('orders', draft), /Nothing was sent: message 7 is gone/);
  assert.equal(sent(), 0);
});

test('after a failed deletion, the next try deletes, and sends no second copy', async () => {
  const { queue, sender, draft, sent } = startCopy();
  queue.fail = ({ path }) =>
    path.endsWith('$delete') ? new UnreachableError('No answer.') : undefined;
  await assert.rejects(sender.send('orders', draft), UnreachableError);
  assert.ok(sender.isSent);
  queue.fail = () => undefined;
  await sender.send('orders', draft);
  assert.deepEqual([sent(), queue.messages], [1, []]);
});

test('the dead letter stays where a topic gets the copy', async () => {
  const { queue, sender, draft } = startCopy();
  queue.destination = { kind: 'topic', requiresDuplicateDetection: false };
  assert.equal(await sender.send('events', draft), 'Sent a copy of message 7 to events.');
  assert.deepEqual(queue.messages, [TEXT]);
});
