import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMessage } from '../../../client/message.ts';
import {
  type MessageFilter,
  matches,
  NO_FILTER,
  reasonOf,
} from '../../../explorer/messages/filter.ts';

const MESSAGE = readMessage(
  JSON.stringify({
    Body: 'Order 17 of Ann',
    BrokerProperties: {
      SequenceNumber: 1,
      State: 'Active',
      Label: 'created',
      EnqueuedTimeUtc: 'Thu, 15 Jan 2026 12:00:00 GMT',
    },
    UserProperties: { Tier: 'gold', Count: 7, Big: { $long: '7' }, DeadLetterReason: 'Declined' },
  }),
);
const at = Date.UTC(2026, 0, 15, 12);

for (const [filter, isMatch] of [
  [{}, true],
  [{ text: 'order 17' }, true],
  [{ text: 'CREATED' }, true],
  [{ text: 'tier' }, true],
  [{ text: 'silver' }, false],
  [{ text: 'time' }, false],
  [{ text: 'label' }, false],
  [{ text: 'declined' }, true],
  [{ text: '7' }, true],
  [{ reason: 'Declined' }, true],
  [{ reason: 'Decl' }, false],
  [{ property: 'tier=gold' }, true],
  [{ property: 'tier=silver' }, false],
  [{ property: 'Count=7' }, true],
  [{ property: 'Big=7' }, true],
  [{ property: 'tier' }, true],
  [{ property: 'none' }, false],
  [{ property: 'Label=created' }, true],
  [{ enqueuedFrom: at }, true],
  [{ enqueuedFrom: at + 1 }, false],
  [{ enqueuedTo: at }, true],
  [{ enqueuedTo: at - 1 }, false],
  [{ text: 'order', property: 'tier=silver' }, false],
] as const satisfies readonly (readonly [Partial<MessageFilter>, boolean])[]) {
  test(`${JSON.stringify(filter)} ${isMatch ? 'finds' : 'leaves out'} the message`, () => {
    assert.equal(matches(MESSAGE, { ...NO_FILTER, ...filter }), isMatch);
  });
}

test('a tab shows messages of its state only', () => {
  assert.equal(matches(MESSAGE, NO_FILTER, 'Active'), true);
  assert.equal(matches(MESSAGE, NO_FILTER, 'Scheduled'), false);
});

test('a reason that is no text is none', () => {
  const text =
    '{"Body":"","BrokerProperties":{"SequenceNumber":1},"UserProperties":{"DeadLetterReason":7}}';
  assert.equal(reasonOf(readMessage(text)), '');
});
