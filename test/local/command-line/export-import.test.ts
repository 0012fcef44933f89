import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { temporaryDirectory } from '../cli.ts';
import { linesOf, sharedNamespace } from './run-command.ts';

/** What is exported can be imported: the same messages, in the same order. */

const bus = sharedNamespace();
const MANY = isMore() ? 10_000 : 2_000;

/** What the service gives a message anew when it is sent. */
const GIVEN_ANEW =
  /"(?:SequenceNumber|EnqueuedTimeUtc|ExpiresAtUtc|DeliveryCount)":(?:\d+|"[^"]*"),?/g;

/** The texts of messages without what the service gives them: numbers keep their digits and types. */
function lasting(exported: string): readonly string[] {
  return linesOf(exported).map((line) => line.replaceAll(GIVEN_ANEW, ''));
}

/** A message with every property that there is. */
const FULL = `{"Body":"\u2028 \\u2028 \\"SequenceNumber\\":1,[{","BrokerProperties":{"ContentType":"text/plain","CorrelationId":"c","Label":"l","MessageId":"full","PartitionKey":"s","ReplyTo":"r","ReplyToSessionId":"rs","SessionId":"s","TimeToLive":86400.5,"To":"t","ViaPartitionKey":"v"},"UserProperties":{"string":"a","int":7,"long":{"$long":"7"},"large":9007199254740993,"double":7.0,"tiny":1e-7,"yes":true,"null":null,"date":{"$date":"2033-11-06T08:49:37.123Z"},"guid":{"$guid":"00000000-0000-0200-0101-d324a6fadb44"},"uri":{"$uri":"urn:x"},"char":{"$char":"x"},"byte":{"$byte":7},"ulong":{"$ulong":"18446744073709551615"},"float":{"$float":7.5},"bytes":{"$bytes":"/wA="},"span":{"$timeSpan":"10000000"},"Body":"x","SequenceNumber":2,"__proto__":"p"}}`;
const BINARY = '{"Body":"/wA=","BodyEncoding":"base64","BrokerProperties":{"MessageId":"binary"}}';
const MARK = '{"Body":"\ufeffmark","BrokerProperties":{"MessageId":"mark"}}';
const EMPTY = '{"Body":"","BrokerProperties":{"MessageId":"empty"}}';
const SCHEDULED =
  '{"Body":"later","BrokerProperties":{"MessageId":"later","ScheduledEnqueueTimeUtc":"Sun, 06 Nov 2033 08:49:37 GMT"}}';
const PAST =
  '{"Body":"past","BrokerProperties":{"MessageId":"past","ScheduledEnqueueTimeUtc":"Sun, 06 Nov 1994 08:49:37 GMT"}}';

test('an export that is imported gives the same export: bodies, properties and their types', async () => {
  const [first, second] = [await bus.queue(), await bus.queue()];
  const stdin = [FULL, BINARY, '', MARK, EMPTY, SCHEDULED, PAST].join('\r\n');
  await bus.succeed(['import', first, '--quiet'], { stdin });
  const exported = await bus.succeed(['export', first]);
  assert.equal(
    await bus.succeed(['import', second], { stdin: exported }),
    `Sent 6 messages to ${second}.\n`,
  );
  const again = await bus.succeed(['export', second]);
  assert.deepEqual(lasting(again), lasting(exported));
  const all = lasting(exported).join('\n');
  for (const kept of [
    '9007199254740993',
    '"double":7.0',
    '{"$ulong":"18446744073709551615"}',
    '"__proto__":"p"',
  ]) {
    assert.ok(all.includes(kept), kept);
  }
  assert.equal(lasting(exported).length, 6);
});

test('dead letters are exported with their reason and can be imported into another queue', async () => {
  const [from, to] = [await bus.queue(), await bus.queue()];
  await bus.succeed(['send', from, 'x', '--count', '3']);
  await bus.succeed(['receive', from, '--count', '3', '--dead-letter', 'Bad']);
  const exported = await bus.succeed(['export', `${from}/$deadletterqueue`]);
  await bus.succeed(['import', to], { stdin: exported });
  const again = await bus.succeed(['export', to]);
  assert.deepEqual(lasting(again), lasting(exported));
  assert.match(again, /"DeadLetterReason":"Bad"/);
});

test(`${MANY} messages go through a file, without being removed`, async (t) => {
  const [from, to] = [await bus.queue(), await bus.queue()];
  const file = join(temporaryDirectory(t), 'messages.ndjson');
  await bus.succeed(['send', from, 'load', '--message-id', 'm', '--count', String(MANY)]);
  assert.equal(await bus.succeed(['export', from, '--out', file]), '');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(await bus.succeed(['import', to, '--in', file, '--json'])), {
    sent: MANY,
  });
  const again = await bus.succeed(['export', to]);
  assert.deepEqual(lasting(again), lasting(readFileSync(file, 'utf8')));
  assert.equal(lasting(await bus.succeed(['export', from])).length, MANY);
});

test('a queue with sessions is exported session by session, and says what it cannot see', async () => {
  const settings = '<RequiresSession>true</RequiresSession>';
  const [from, to] = [await bus.queue(settings), await bus.queue(settings)];
  for (const session of ['a', 'b', 'a'])
    await bus.succeed(['send', from, session, '--session-id', session]);
  const exported = await bus.succeed(['export', from]);
  assert.deepEqual(
    linesOf(exported).map((line) => JSON.parse(line).Body),
    ['a', 'a', 'b'],
  );
  await bus.succeed(['import', to], { stdin: exported });
  assert.deepEqual(lasting(await bus.succeed(['export', to])), lasting(exported));
  await bus.succeed(['send', from, 'c', '--session-id', 'c', '--schedule', '1h']);
  const { code, stderr } = await bus.run(['export', from]);
  assert.equal(code, 1);
  assert.match(stderr, /^Left out: 1 message of sessions that have no active message/);
  const one = await bus.succeed(['export', from, '--session', 'c']);
  assert.equal(linesOf(one).length, 1);
});

test('a partitioned queue takes the messages of one key in one batch', async () => {
  const [from, to] = [
    await bus.queue(),
    await bus.queue('<EnablePartitioning>true</EnablePartitioning>'),
  ];
  const lines = Array.from({ length: 60 }, (_, i) => {
    const key = i % 3 === 0 ? '' : `,"PartitionKey":"key-${i % 3}"`;
    return `{"Body":"${i}","BrokerProperties":{"MessageId":"m-${i}"${key}}}`;
  });
  await bus.succeed(['import', from], { stdin: lines.join('\n') });
  const exported = await bus.succeed(['export', from]);
  await bus.succeed(['import', to], { stdin: exported });
  const sorted = (text: string) => [...lasting(text)].sort();
  assert.deepEqual(sorted(await bus.succeed(['export', to])), sorted(exported));
});

test('large messages are sent in several batches', async () => {
  const queue = await bus.queue();
  const line = (i: number) => JSON.stringify({ Body: String(i).repeat(200_000) });
  await bus.succeed(['import', queue], { stdin: [1, 2, 3, 4, 5, 6, 7, 8].map(line).join('\n') });
  const bodies = linesOf(await bus.succeed(['export', queue])).map((text) => JSON.parse(text).Body);
  assert.deepEqual(
    bodies.map((body) => [body[0], body.length]),
    [1, 2, 3, 4, 5, 6, 7, 8].map((i) => [String(i), 200_000]),
  );
});

test('messages of many scheduled instants are sent in several batches', async () => {
  const queue = await bus.queue();
  const lines = Array.from({ length: 120 }, (_, i) =>
    JSON.stringify({
      Body: String(i),
      BrokerProperties: {
        ScheduledEnqueueTimeUtc: new Date(Date.UTC(2033, 0, 1, 0, i)).toISOString(),
      },
    }),
  );
  await bus.succeed(['import', queue], { stdin: lines.join('\n') });
  assert.equal(linesOf(await bus.succeed(['export', queue])).length, 120);
});

const WRONG_LINES: Readonly<Record<string, string>> = {
  '{"Body":': 'Line 3 is not valid JSON.',
  '["Body"]': 'Line 3 is not a message: it must be a JSON object.',
  '{}': 'Line 3 is not a message: Body is required and must be a text.',
  '{"body":"x"}':
    'Line 3 is not a message: there is no field "body"; write Body instead, or remove it.',
  '{"Body":"x","Colour":1}': 'Line 3 is not a message: there is no field "Colour"; remove it.',
  '{"Body":"x","BrokerProperties":{"MesageId":"m"}}':
    'Line 3 is not a message: there is no field "MesageId"; write MessageId instead, or remove it.',
  '{"Body":7}': 'Line 3 is not a message: Body is required and must be a text.',
  '{"Body":"x","BodyEncoding":"base64"}': 'Line 3 is not a message: Body is not valid base64.',
  '{"Body":"x","BodyEncoding":"gzip"}':
    "Line 3 is not a message: BodyEncoding may only be 'base64'.",
  '{"Body":"x","BrokerProperties":[]}':
    'Line 3 is not a message: BrokerProperties must be a JSON object.',
  '{"Body":"x","BrokerProperties":{"MessageId":7}}':
    'Line 3 is not a message: MessageId must be a text.',
  '{"Body":"x","BrokerProperties":{"TimeToLive":"1"}}':
    'Line 3 is not a message: TimeToLive must be a number of seconds.',
  '{"Body":"x","BrokerProperties":{"ScheduledEnqueueTimeUtc":"soon"}}':
    'Line 3 is not a message: ScheduledEnqueueTimeUtc is not a date.',
  '{"Body":"x","UserProperties":{"a":[1]}}':
    "Line 3 is not a message: the property 'a' has no value that a message can hold.",
  '{"Body":"x","UserProperties":{"a":{"$none":1}}}':
    "Line 3 is not a message: the property 'a' has no value that a message can hold.",
};

test('a wrong line of a file is named before anything is sent', async (t) => {
  const queue = await bus.queue();
  const file = join(temporaryDirectory(t), 'wrong.ndjson');
  for (const [line, sentence] of Object.entries(WRONG_LINES)) {
    writeFileSync(file, `{"Body":"1"}\n\n${line}\n{"Body":"4"}\n`);
    const { code, stdout, stderr } = await bus.run(['import', queue, '--in', file]);
    assert.deepEqual([code, stdout, stderr], [2, '', `${sentence}\n`]);
  }
  writeFileSync(file, Buffer.from([0x22, 0xff, 0x22]));
  assert.equal((await bus.run(['import', queue, '--in', file])).stderr, 'Line 1 is not UTF-8.\n');
  assert.equal(await bus.succeed(['peek', queue, '--json']), '');
});

test('a wrong line of the input is named after what comes before it was sent', async () => {
  const queue = await bus.queue();
  const { code, stderr } = await bus.run(['import', queue], {
    stdin: '{"Body":"1"}\n{"Body":"2"}\n{',
  });
  assert.equal(code, 2);
  assert.equal(
    stderr,
    `Sent 2 messages to ${queue} before the error.\nLine 3 is not valid JSON.\n`,
  );
  assert.equal(linesOf(await bus.succeed(['export', queue])).length, 2);
});

test('a message that the service refuses is named by its line', async () => {
  const queue = await bus.queue();
  const stdin = [
    '{"Body":"1"}',
    '{"Body":"2","UserProperties":{"a":{"$int":"x"}}}',
    '{"Body":"3"}',
  ].join('\n');
  const { code, stderr } = await bus.run(['import', queue], { stdin });
  assert.equal(code, 2);
  assert.match(
    stderr,
    /\nLine 2 was refused\. .*holds no value of the type \$int\. \(ArgumentError, tracking id /,
  );
});

test('an import into an entity that does not exist blames no line', async () => {
  const { code, stderr } = await bus.run(['import', 'nobody'], { stdin: '{"Body":"1"}\n' });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /\nThe messaging entity 'nobody' could not be found\. \(MessagingEntityNotFound, /,
  );
});

test('a message that no batch can carry is named, and the others are sent', async () => {
  const queue = await bus.queue();
  const lines = ['{"Body":"1"}', JSON.stringify({ Body: 'x'.repeat(300_000) })];
  const { code, stderr } = await bus.run(['import', queue], { stdin: lines.join('\n') });
  assert.equal(code, 2);
  assert.match(stderr, /^Sent 1 message to .*\nLine 2 was refused\. .*\(MessageSizeExceeded, /);
});

test('the key of a queue is enough for its messages, and for nothing else', async () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const rights = ['Send', 'Listen']
    .map((right) => `<AccessRights>${right}</AccessRights>`)
    .join('');
  const rule = `<AuthorizationRule><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights>${rights}</Rights><KeyName>own</KeyName><PrimaryKey>${key}</PrimaryKey><SecondaryKey>${key}</SecondaryKey></AuthorizationRule>`;
  const queue = await bus.queue(`<AuthorizationRules>${rule}</AuthorizationRules>`);
  const root = (await bus.environment()).DYNABUS_CONNECTION_STRING;
  const own = root.replace(
    /SharedAccessKeyName=.*/,
    `SharedAccessKeyName=own;SharedAccessKey=${key};EntityPath=${queue};UseDevelopmentEmulator=true;`,
  );
  await bus.succeed(['send', queue, 'x', '--to', own]);
  const exported = await bus.succeed(['export', queue, '--to', own]);
  assert.equal(linesOf(exported).length, 1);
  await bus.succeed(['import', queue, '--to', own], { stdin: exported });
  await bus.succeed(['receive', queue, '--count', '2', '--to', own]);
  for (const args of [['list'], ['purge', queue, '--yes'], ['resubmit', queue, '--all']]) {
    const { code, stderr } = await bus.run([...args, '--to', own]);
    assert.equal(code, 1);
    assert.match(stderr, /Unauthenticated, tracking id/);
  }
});

test('send --batch takes the lines of an export', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, '--batch'], { stdin: `${FULL}\n${BINARY}\n` });
  assert.equal(linesOf(await bus.succeed(['export', queue])).length, 2);
});
