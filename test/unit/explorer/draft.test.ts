import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMessage } from '../../../client/message.ts';
import { draftOf, EMPTY_DRAFT, messageText } from '../../../explorer/send/draft.ts';

test('a message that is edited keeps what a sender sets, with its types, and loses the rest', () => {
  const text =
    '{"Body":"hi","BrokerProperties":{"SequenceNumber":9007199254740993,"MessageId":"m","Label":"l","State":"Active","DeliveryCount":3,"TimeToLive":922337203685.47754},"UserProperties":{"a":7.0,"b":{"$long":"7"},"DeadLetterReason":"x","DeadLetterErrorDescription":"y"}}';
  const again = messageText(draftOf(readMessage(text)));
  assert.equal(
    again.replaceAll(/\s/g, ''),
    '{"Body":"hi","BrokerProperties":{"MessageId":"m","Label":"l"},"UserProperties":{"a":7.0,"b":{"$long":"7"}}}',
  );
});

test('bytes that are no text are edited as base64', () => {
  const text =
    '{"Body":"//4=","BodyEncoding":"base64","BrokerProperties":{"SequenceNumber":1},"UserProperties":{}}';
  const draft = draftOf(readMessage(text));
  assert.deepEqual([draft.isBase64, draft.body], [true, '//4=']);
  assert.match(messageText(draft), /"BodyEncoding":"base64"/);
});

test('the ends of lines stay as they are, although a form knows only one kind', () => {
  const draft = (body: string) =>
    draftOf(
      readMessage(
        JSON.stringify({ Body: body, BrokerProperties: { SequenceNumber: 1 }, UserProperties: {} }),
      ),
    );
  const bodyOf = (text: string) => (JSON.parse(text) as { readonly Body: string }).Body;
  const windows = draft('a\r\nb\r\n');
  assert.equal(bodyOf(messageText(windows)), 'a\r\nb\r\n');
  assert.equal(bodyOf(messageText({ ...windows, body: 'a\nb\nc' })), 'a\r\nb\r\nc');
  assert.equal(bodyOf(messageText(draft('a\nb'))), 'a\nb');
  for (const mixed of ['a\r\nb\n', 'a\rb']) {
    assert.equal(draft(mixed).isBase64, true, 'what no form can keep is not edited as text');
  }
});

test('a time to live is a number of seconds', () => {
  const withLife = (TimeToLive: string) => messageText({ ...EMPTY_DRAFT, system: { TimeToLive } });
  assert.match(withLife('1.5'), /"TimeToLive":1\.5/);
  assert.throws(() => withLife('soon'), { name: 'DraftError' });
  assert.throws(() => withLife('-1'), { name: 'DraftError' });
});

for (const properties of ['', '[]', '7', '{"a":}', 'null']) {
  test(`properties ${JSON.stringify(properties)} are refused`, () => {
    assert.throws(() => messageText({ ...EMPTY_DRAFT, properties }), { name: 'DraftError' });
  });
}

test('an instant is written so that the service reads it', () => {
  const text = messageText(EMPTY_DRAFT, Date.UTC(2030, 0, 1));
  assert.match(text, /"ScheduledEnqueueTimeUtc":"2030-01-01T00:00:00\.000Z"/);
});
