import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../cli.ts';
import { linesOf, sharedNamespace } from './run-command.ts';

/** The commands on messages, over a running namespace. */

const bus = sharedNamespace();

/** The messages of an output with --json. */
function messagesOf(output: string) {
  return linesOf(output).map((line) => JSON.parse(line));
}

test('a sent message has all properties that the options name', async () => {
  const queue = await bus.queue();
  await bus.succeed([
    ...['send', queue, '{"order":1}', '--content-type', 'application/json', '--subject', 'created'],
    ...[
      '--message-id',
      'm-1',
      '--session-id',
      's',
      '--correlation-id',
      'c',
      '--partition-key',
      's',
    ],
    ...['--to-address', 'you', '--reply-to', 'me', '--time-to-live', '90s'],
    ...[
      '--property',
      'Priority=High=1',
      '--property',
      'a:b:string=text',
      '--property',
      'Quantity:int=7',
    ],
    ...[
      '--property',
      'Large:long=7',
      '--property',
      'Price:double=7',
      '--property',
      'Rush:boolean=true',
    ],
    ...['--property', 'At:date=2033-11-06T08:49:37.000Z', '--property', 'Empty='],
  ]);
  const [message] = messagesOf(await bus.succeed(['receive', queue, '--json']));
  const { Body, BrokerProperties: system, UserProperties } = message;
  assert.equal(Body, '{"order":1}');
  const { ContentType, Label, MessageId, SessionId, CorrelationId, To, ReplyTo, TimeToLive } =
    system;
  assert.deepEqual(
    [ContentType, Label, MessageId, SessionId, CorrelationId, To, ReplyTo, TimeToLive],
    ['application/json', 'created', 'm-1', 's', 'c', 'you', 'me', 90],
  );
  assert.deepEqual(UserProperties, {
    Priority: 'High=1',
    'a:b': 'text',
    Quantity: 7,
    Large: { $long: '7' },
    Price: 7,
    Rush: true,
    At: { $date: '2033-11-06T08:49:37.000Z' },
    Empty: '',
  });
  // The queue has no further message.
  const { code, stdout, stderr } = await bus.run(['receive', queue, '--json', '--wait', '10ms']);
  assert.deepEqual([code, stdout, stderr], [0, '', `No message in ${queue}.\n`]);
});

test('a body comes from an argument, a file or the input, byte for byte', async (t) => {
  const queue = await bus.queue();
  const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x00, 0x0a]);
  const file = join(temporaryDirectory(t), 'body');
  writeFileSync(file, bytes);
  await bus.succeed(['send', queue, '--file', file]);
  await bus.succeed(['send', queue, '-'], { stdin: bytes });
  await bus.succeed(['send', queue, '-'], { stdin: '\ufefftext\u2028\n' });
  await bus.succeed(['send', queue, '']);
  const messages = messagesOf(await bus.succeed(['peek', queue, '--json']));
  const bodies = messages.map(({ Body, BodyEncoding }) =>
    Buffer.from(Body, BodyEncoding ?? 'utf8'),
  );
  assert.deepEqual(bodies, [bytes, bytes, Buffer.from('\ufefftext\u2028\n'), Buffer.alloc(0)]);
});

test('--schedule takes a duration from now or an instant', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'a', '--schedule', '2033-11-06T10:49:37+02:00']);
  await bus.succeed(['send', queue, 'b', '--schedule', 'PT1H']);
  const messages = messagesOf(await bus.succeed(['peek', queue, '--json']));
  const [first, second] = messages.map(({ BrokerProperties: system }) => system);
  assert.equal(first.ScheduledEnqueueTimeUtc, 'Sun, 06 Nov 2033 08:49:37 GMT');
  const inMs = Date.parse(second.ScheduledEnqueueTimeUtc) - Date.now();
  assert.ok(inMs > 3_500_000 && inMs <= 3_600_000, String(inMs));
  assert.deepEqual([first.State, second.State], ['Scheduled', 'Scheduled']);
});

test('peek shows a table of the next messages and changes nothing', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'line one\nline two \u001b[31mred', '--subject', 'created']);
  await bus.succeed(['send', queue, 'x'.repeat(100), '--message-id', 'm', '--count', '12']);
  const table = linesOf(await bus.succeed(['peek', queue]));
  assert.equal(table.length, 11);
  assert.match(table[0] ?? '', /^NUMBER {2}ENQUEUED +STATE +DELIVERIES {2}SUBJECT OR ID {2}BODY$/);
  assert.match(
    table[1] ?? '',
    /^ {5}1 {2}20\S+Z {2}Active +0 {2}created +line one line two {2}\[31mred$/,
  );
  assert.match(table[2] ?? '', / m-1 +x{59}…$/);
  assert.equal(messagesOf(await bus.succeed(['peek', queue, '--json', '--all'])).length, 13);
  const from = messagesOf(
    await bus.succeed(['peek', queue, '--json', '--from', '3', '--count', '2']),
  );
  assert.deepEqual(
    from.map(({ BrokerProperties: { SequenceNumber, DeliveryCount } }) => [
      SequenceNumber,
      DeliveryCount,
    ]),
    [
      [3, 0],
      [4, 0],
    ],
  );
});

test('peek shows the messages of all sessions in one table, with their session', async () => {
  const queue = await bus.queue('<RequiresSession>true</RequiresSession>');
  for (const session of ['a', 'long-session', 'b']) {
    await bus.succeed(['send', queue, session, '--session-id', session, '--message-id', 'm']);
  }
  const [titles = '', ...rows] = linesOf(await bus.succeed(['peek', queue]));
  assert.match(titles, /^NUMBER {2}SESSION +ENQUEUED +STATE +DELIVERIES {2}SUBJECT OR ID {2}BODY$/);
  const at = titles.indexOf('SESSION');
  const sessions = rows.map((row) => row.slice(at, titles.indexOf('ENQUEUED')).trim());
  assert.deepEqual([...sessions].sort(), ['a', 'b', 'long-session']);
  const one = linesOf(await bus.succeed(['peek', queue, '--session', 'b']));
  assert.match(one[1] ?? '', /^ +\d+ {2}b +20/);
});

test('a peek of more than one page has its titles once', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '1200']);
  const table = linesOf(await bus.succeed(['peek', queue, '--all']));
  assert.equal(table.length, 1201);
  assert.equal(table.filter((line) => line.startsWith('NUMBER')).length, 1);
});

test('receive completes what it has printed, and nothing else', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'body', '--message-id', 'm', '--count', '5']);
  assert.match(
    await bus.succeed(['receive', queue]),
    /^#1 {2}\S+Z, id m-1, delivery 1, .*\nbody\n\n$/s,
  );
  const closed = await bus.run(['receive', queue, '--json'], {
    onOutput: () => {
      throw Object.assign(new Error('The pipe is closed.'), { code: 'EPIPE' });
    },
  });
  assert.deepEqual([closed.code, closed.stderr], [0, '']);
  assert.equal(
    messagesOf(await bus.succeed(['receive', queue, '--json', '--mode', 'delete'])).length,
    1,
  );
  await bus.succeed(['receive', queue, '--abandon']);
  await bus.succeed(['receive', queue, '--dead-letter', 'Unreadable']);
  const locked = messagesOf(await bus.succeed(['receive', queue, '--json', '--mode', 'peek-lock']));
  assert.match(locked[0].BrokerProperties.LockToken, /^[\da-f-]{36}$/);
  const left = messagesOf(await bus.succeed(['peek', queue, '--json']));
  assert.deepEqual(
    left.map(({ BrokerProperties: system }) => system.MessageId),
    ['m-4', 'm-5'],
  );
  const [dead] = messagesOf(await bus.succeed(['receive', `${queue}/$deadletterqueue`, '--json']));
  assert.equal(dead.BrokerProperties.MessageId, 'm-3');
  assert.equal(dead.UserProperties.DeadLetterReason, 'Unreadable');
});

test('receive takes a named session or the next one, and gives it back', async () => {
  const queue = await bus.queue('<RequiresSession>true</RequiresSession>');
  for (const session of ['a', 'b']) {
    await bus.succeed(['send', queue, session, '--session-id', session, '--count', '2']);
  }
  const without = await bus.run(['receive', queue]);
  assert.equal(without.code, 2);
  assert.match(without.stderr, /has sessions: name one with --session, or use --any-session\.\n$/);
  const b = messagesOf(await bus.succeed(['receive', queue, '--session', 'b', '--json']));
  assert.deepEqual(
    b.map(({ Body }) => Body),
    ['b'],
  );
  for (const _ of [1, 2]) await bus.succeed(['receive', queue, '--session', 'b', '--wait', '0s']);
  const any = await bus.succeed([
    'receive',
    queue,
    '--any-session',
    '--count',
    '5',
    '--json',
    '--wait',
    '0s',
  ]);
  assert.deepEqual(
    messagesOf(any).map(({ Body }) => Body),
    ['a', 'a'],
  );
});

test('a refusal is printed with its code and its tracking id', async () => {
  const { code, stdout, stderr } = await bus.run(['receive', 'nobody']);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^The messaging entity 'nobody' could not be found\. \(MessagingEntityNotFound, tracking id [\da-f-]{36}\)\n$/,
  );
});

test('a wrong key is refused, and no key is ever printed', async () => {
  const to = (await bus.environment()).DYNABUS_CONNECTION_STRING.replace(
    'SAS_KEY_VALUE',
    'c2VjcmV0',
  );
  for (const args of [['list'], ['peek', 'q'], ['send', 'q', 'x'], ['deploy-info']]) {
    const { stdout, stderr } = await bus.run([...args, '--to', to]);
    assert.match(stderr, /InvalidSignature|Unauthenticated/);
    assert.doesNotMatch(stdout + stderr, /c2VjcmV0/);
  }
});

test('resubmit says how many stay, and --count takes the first ones', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--message-id', 'm', '--count', '3']);
  await bus.succeed(['receive', queue, '--count', '3', '--dead-letter']);
  await bus.succeed(['resubmit', `${queue}/$deadletterqueue`, '--count', '1']);
  const [first] = messagesOf(await bus.succeed(['receive', queue, '--json']));
  assert.equal(first.BrokerProperties.MessageId, 'm-1');
  await bus.succeed(['receive', `${queue}/$deadletterqueue`, '--mode', 'peek-lock']);
  const { code, stdout, stderr } = await bus.run(['resubmit', queue, '--all', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [1, { resubmitted: 1, left: 1 }]);
  assert.match(stderr, /^1 message not resubmitted: not there, locked, /);
});

test('resubmit takes dead letters by their numbers', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--message-id', 'm', '--count', '300']);
  await bus.succeed(['receive', queue, '--count', '300', '--dead-letter']);
  const even = Array.from({ length: 150 }, (_, i) => 2 * i + 2);
  await bus.succeed(['resubmit', queue, '--sequence-numbers', even.join(',')]);
  const back = messagesOf(await bus.succeed(['peek', queue, '--all', '--json']));
  assert.deepEqual(
    back.map(({ BrokerProperties: system }) => system.MessageId),
    even.map((number) => `m-${number}`),
  );
  const again = await bus.run(['resubmit', queue, '--sequence-numbers', '2, 3', '--json']);
  assert.deepEqual([again.code, JSON.parse(again.stdout)], [1, { resubmitted: 1, left: 1 }]);
});

test('purge asks on a terminal, and removes only after the path was typed', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '2']);
  const no = await bus.run(['purge', queue], { isTTY: true, stdin: 'yes\n' });
  assert.equal(no.code, 1);
  assert.match(
    no.stderr,
    new RegExp(`^This removes 2 messages\\. Type ${queue} to go on: Nothing was removed`),
  );
  const yes = await bus.run(['purge', queue], { isTTY: true, stdin: `${queue}\n` });
  assert.deepEqual([yes.code, yes.stdout], [0, `Removed 2 messages from ${queue}.\n`]);
});

test('a topic has no messages to resubmit, purge or export', async (t) => {
  const file = join(temporaryDirectory(t), 'Config.json');
  writeFileSync(file, '{"topics":{"news":{}}}');
  await bus.succeed(['import', '--entities', file]);
  for (const args of [
    ['resubmit', 'news', '--all'],
    ['resubmit', 'news', '--sequence-numbers', '1'],
    ['purge', 'news', '--yes'],
    ['export', 'news'],
  ]) {
    const { code, stdout, stderr } = await bus.run(args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^news is a topic, whose messages are in its subscriptions: name one, /);
  }
});

test('a refusal of the only message says nothing of a batch', async () => {
  const queue = await bus.queue();
  const { code, stderr } = await bus.run(['send', queue, 'x', '--message-id', 'm'.repeat(129)]);
  assert.equal(code, 1);
  assert.match(stderr, /MessageId is 129 characters long/);
  assert.doesNotMatch(stderr, /batch/);
});
