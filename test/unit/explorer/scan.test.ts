import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { type MessageFilter, NO_FILTER } from '../../../explorer/messages/filter.ts';
import { MessageScan, type ScanRequest } from '../../../explorer/messages/scan.ts';
import { MESSAGE_TABS, type MessageTab, pathOf } from '../../../explorer/messages/tabs.ts';
import { ListedQueue, messageText, refusal } from './listed-queue.ts';

const tabOf = (id: MessageTab['id']): MessageTab => {
  const tab = MESSAGE_TABS.find((one) => one.id === id);
  assert.ok(tab);
  return tab;
};
const DEAD = tabOf('dead-letter');

function scanOf(
  queue: ListedQueue,
  filter: Partial<MessageFilter> = {},
  more: Partial<ScanRequest> = {},
) {
  const tab = more.tab ?? DEAD;
  const path = pathOf('orders', tab);
  return new MessageScan(queue, { path, tab, filter: { ...NO_FILTER, ...filter }, ...more });
}

const numbered = (count: number, reasonOf: (number: number) => string = () => 'Declined') =>
  Array.from({ length: count }, (_, i) => messageText(i + 1, reasonOf(i + 1)));

const foundIn = ({ state }: MessageScan) =>
  state.value.found.map(({ sequenceNumber }) => Number(sequenceNumber));

test('the first look at a long queue reads one page of 100', async () => {
  const queue = new ListedQueue(numbered(3_000));
  const scan = scanOf(queue);
  await scan.more();
  assert.equal(queue.calls.length, 1);
  assert.equal(scan.state.value.scanned, 100);
  await scan.more();
  assert.deepEqual(
    foundIn(scan),
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});

test('a look begins at the number that is asked for', async () => {
  const scan = scanOf(new ListedQueue(numbered(300)), {}, { from: 250n });
  await scan.toEnd();
  assert.equal(foundIn(scan)[0], 250);
  assert.ok(scan.state.value.isAtEnd);
});

test('a filter that finds nothing stops after 5,000 messages, and goes on when it is asked to', async () => {
  const queue = new ListedQueue(numbered(6_000));
  const scan = scanOf(queue, { reason: 'Other' });
  await scan.more();
  assert.deepEqual([scan.state.value.scanned, scan.state.value.isAtEnd], [5_000, false]);
  await scan.more();
  assert.deepEqual([scan.state.value.scanned, scan.state.value.isAtEnd], [6_000, true]);
});

test('the page keeps 5,000 messages of a queue, and says that it is full', async () => {
  const scan = scanOf(new ListedQueue(numbered(6_000)));
  await scan.toEnd();
  const { found, isFull, isAtEnd } = scan.state.value;
  assert.deepEqual([found.length, isFull, isAtEnd], [5_000, true, false]);
});

test('a look that is stopped ends after the page that it reads', async () => {
  const queue = new ListedQueue(numbered(6_000));
  const scan = scanOf(queue, { reason: 'Other' });
  const reading = scan.toEnd();
  queue.fail = () => {
    if (queue.calls.length === 3) scan.stop();
    return undefined;
  };
  await reading;
  assert.deepEqual([scan.state.value.scanned, scan.state.value.isAtEnd], [750, false]);
});

test('reasons are counted over all that were looked at, whatever the filter lets through', async () => {
  const reasons = (number: number) => (number % 3 === 0 ? 'Expired' : 'Declined');
  const scan = scanOf(new ListedQueue(numbered(300, reasons)), { reason: 'Expired' });
  await scan.toEnd();
  assert.equal(scan.state.value.found.length, 100);
  assert.deepEqual(
    [...scan.state.value.reasons],
    [
      ['Declined', 200],
      ['Expired', 100],
    ],
  );
});

test('only messages in the state of the tab are found', async () => {
  const texts = [1, 2, 3].map((one) =>
    messageText(one, undefined, { State: one === 2 ? 'Deferred' : 'Active' }),
  );
  const scan = scanOf(new ListedQueue(texts), {}, { tab: tabOf('deferred') });
  await scan.toEnd();
  assert.deepEqual(foundIn(scan), [2]);
});

test('after an answer that did not come, a look goes on where it was, and does not say that it is at the end', async () => {
  const queue = new ListedQueue(numbered(300));
  const scan = scanOf(queue);
  await scan.more();
  queue.fail = () => new UnreachableError('No answer.');
  await scan.more();
  const { error, isAtEnd, isReading, scanned } = scan.state.value;
  assert.ok(error instanceof UnreachableError);
  assert.deepEqual([isAtEnd, isReading, scanned], [false, false, 100]);
  queue.fail = () => undefined;
  await scan.toEnd();
  assert.deepEqual(
    foundIn(scan),
    Array.from({ length: 300 }, (_, i) => i + 1),
  );
  assert.equal(scan.state.value.error, undefined);
});

test('a refusal is shown, and what was found stays', async () => {
  const queue = new ListedQueue(numbered(300));
  const scan = scanOf(queue);
  await scan.more();
  queue.fail = () => refusal('Unauthorized', 401);
  await scan.more();
  assert.equal(scan.state.value.found.length, 100);
  assert.match(String(scan.state.value.error), /Unauthorized/);
});

test('the path of a tab names its sub-queue', () => {
  const paths = MESSAGE_TABS.map((tab) => pathOf('orders', tab).text);
  assert.deepEqual(paths, [
    'orders',
    'orders/$deadletterqueue',
    'orders',
    'orders',
    'orders/$transfer/$deadletterqueue',
  ]);
});
