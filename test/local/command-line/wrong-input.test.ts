import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../cli.ts';
import { connectionString, runCommand, runProcess } from './run-command.ts';

/** Wrong input, whatever kind it is: a sentence, no stack trace, exit code 2, and nothing is called. */

/** Nothing listens there: a command that would call the namespace ends with 1. */
const TO = ['--to', connectionString('http://localhost:9')];

const WRONG: Readonly<Record<string, { readonly args: readonly string[]; readonly says: RegExp }>> =
  {
    'an unknown command': {
      args: ['snd', 'q'],
      says: /^Unknown command 'snd'\. Did you mean send\? See dynabus --help\.$/,
    },
    'the help of an unknown command': {
      args: ['help', 'snd'],
      says: /^Unknown command 'snd'\. Did you mean send\? See dynabus --help\.$/,
    },
    'an unknown option': {
      args: ['send', 'q', '--cuont', '3'],
      says: /^Unknown option '--cuont'\. Did you mean --count\? See dynabus send --help\.$/,
    },
    'an unknown option before the command': {
      args: ['--port', '0'],
      says: /^Unknown option '--port'.* See dynabus --help\.$/,
    },
    'a missing argument': {
      args: ['send'],
      says: /^Missing required argument 'path'\. See dynabus send --help\.$/,
    },
    'a missing value of an option': {
      args: ['peek', 'q', '--count'],
      says: /argument missing\. See dynabus peek --help\.$/,
    },
    'too many arguments': { args: ['purge', 'a', 'b'], says: /^Too many arguments for 'purge'/ },
    'no body': { args: ['send', 'q', ...TO], says: /^No body is given/ },
    'two bodies': { args: ['send', 'q', 'b', '--file', 'f', ...TO], says: /^Give the body either/ },
    'a file that does not exist': {
      args: ['send', 'q', '--file', '/nonexistent', ...TO],
      says: /^The file \/nonexistent does not exist\.$/,
    },
    'a file that is a directory': {
      args: ['import', 'q', '--in', '/', ...TO],
      says: /^The file \/ cannot be read: it is a directory\.$/,
    },
    'a path with an empty segment': {
      args: ['peek', 'q//messages', ...TO],
      says: /^'q\/\/messages' is no path of an entity/,
    },
    'a path whose sub-queue the shell removed': {
      args: ['peek', 'q/', ...TO],
      says: /single quotes/,
    },
    'a path with a segment ..': {
      args: ['purge', '../orders', '--yes', ...TO],
      says: /^'\.\.\/orders' is no path of an entity: the segments \. and \.\. name no entity/,
    },
    'a path with a segment . before its sub-queue': {
      args: ['purge', 'orders/./$deadletterqueue', '--yes', ...TO],
      says: /the segments \. and \.\. name no entity/,
    },
    'a path with an encoded segment': {
      args: ['list', 'a/%2e%2e/orders', ...TO],
      says: /^'a\/%2e%2e\/orders' is no path of an entity\. The name .* can contain only letters/,
    },
    'a path that names a subscription by ..': {
      args: ['peek', 'events/subscriptions/..', ...TO],
      says: /the segments \. and \.\. name no entity/,
    },
    'a name that no entity can have': {
      args: ['send', 'a b', 'x', ...TO],
      says: /^'a b' is no path of an entity\. The name 'a b' is not valid: .* letters/,
    },
    'an unknown sub-queue': {
      args: ['peek', 'q/$dlq', ...TO],
      says: /names no queue that dynabus knows/,
    },
    'a send to a dead-letter queue': {
      args: ['send', 'q/$deadletterqueue', 'x', ...TO],
      says: /send to q\.$/,
    },
    'an import into a dead-letter queue': {
      args: ['import', 'q/$deadletterqueue', ...TO],
      says: /import into q\.$/,
    },
    'a count of 0': {
      args: ['send', 'q', 'x', '--count', '0', ...TO],
      says: /^--count takes a whole number from 1 to /,
    },
    'a count that is no number': {
      args: ['receive', 'q', '--count', 'all', ...TO],
      says: /^--count takes a whole number/,
    },
    'a sequence number that is none': {
      args: ['peek', 'q', '--from', '-1', ...TO],
      says: /^--from takes a sequence number/,
    },
    'both --all and --count': {
      args: ['peek', 'q', '--all', '--count', '1', ...TO],
      says: /^Give either --all or --count\.$/,
    },
    'a duration without a unit': {
      args: ['send', 'q', 'x', '--time-to-live', '5', ...TO],
      says: /^--time-to-live takes a duration such as 90s/,
    },
    'an empty ISO duration': {
      args: ['receive', 'q', '--wait', 'PT', ...TO],
      says: /^--wait takes a duration/,
    },
    'a time to live of 0': {
      args: ['send', 'q', 'x', '--time-to-live', '0s', ...TO],
      says: /^--time-to-live must be longer than 0\.$/,
    },
    'an instant without an offset': {
      args: ['send', 'q', 'x', '--schedule', '2033-01-01T00:00:00', ...TO],
      says: /^--schedule takes an instant/,
    },
    'a property without a value': {
      args: ['send', 'q', 'x', '--property', 'a', ...TO],
      says: /^--property takes NAME=VALUE/,
    },
    'a property without a name': {
      args: ['send', 'q', 'x', '--property', '=a', ...TO],
      says: /^--property takes NAME=VALUE/,
    },
    'a property of another type': {
      args: ['send', 'q', 'x', '--property', 'a:int=b', ...TO],
      says: /^The value 'b' of the property 'a' is not an int\.$/,
    },
    'an int of more than 32 bits': {
      args: ['send', 'q', 'x', '--property', 'a:int=2147483648', ...TO],
      says: /is not an int\.$/,
    },
    'a long of more than 64 bits': {
      args: ['send', 'q', 'x', '--property', 'a:long=9223372036854775808', ...TO],
      says: /^The value '9223372036854775808' of the property 'a' is not a long\.$/,
    },
    'a double that is infinite': {
      args: ['send', 'q', 'x', '--property', 'a:double=1e400', ...TO],
      says: /is not a double\.$/,
    },
    'a date that is none': {
      args: ['send', 'q', 'x', '--property', 'a:date=2033-13-45T00:00:00Z', ...TO],
      says: /is not a date\.$/,
    },
    'a property of an unknown type': {
      args: ['send', 'q', 'x', '--property', 'a:foo=1', ...TO],
      says: /^The property 'a' has the unknown type 'foo': write one of string, int, long, double, boolean, date or guid\./,
    },
    'a property that is given twice': {
      args: ['send', 'q', 'x', '--property', 'a=1', '--property', 'a:int=2', ...TO],
      says: /^The property 'a' is given twice: keep one --property\.$/,
    },
    'a session of an export of entities': {
      args: ['export', '--entities', '--session', 's', ...TO],
      says: /^--session is for messages: /,
    },
    'a file of messages beside a file of entities': {
      args: ['import', '--in', 'f', '--entities', 'g', ...TO],
      says: /^--in is for messages: /,
    },
    'outputs beside a connection string': {
      args: ['deploy-info', '--outputs', 'f', ...TO],
      says: /^Give either --outputs or --to\.$/,
    },
    'a connection string with a flag that is neither true nor false': {
      args: ['list', '--to', TO[1]?.replace('=true', '=maybe') ?? ''],
      says: /^The connection string has a UseDevelopmentEmulator that is neither true nor false\. /,
    },
    'an unknown mode': {
      args: ['receive', 'q', '--mode', 'peek', ...TO],
      says: /^--mode takes complete, peek-lock or delete/,
    },
    'two fates of a message': {
      args: ['receive', 'q', '--abandon', '--dead-letter', ...TO],
      says: /^Give only one of/,
    },
    'two kinds of sessions': {
      args: ['receive', 'q', '--session', 's', '--any-session', ...TO],
      says: /^Give either --session/,
    },
    'a resubmit of nothing': { args: ['resubmit', 'q', ...TO], says: /^Give / },
    'a purge that nobody can confirm': {
      args: ['purge', 'q', ...TO],
      says: /^A purge of q needs --yes/,
    },
    'a list of a dead-letter queue': {
      args: ['list', 'q/$deadletterqueue', ...TO],
      says: /list q\.$/,
    },
    'an export of nothing': {
      args: ['export', ...TO],
      says: /^Give either the path of an entity or --entities\.$/,
    },
    'keys of an export of messages': {
      args: ['export', 'q', '--keys', ...TO],
      says: /^--keys is for entities: /,
    },
    'an update by messages': {
      args: ['import', 'q', '--update', ...TO],
      says: /^--update is for entities: /,
    },
    'an export of two things': {
      args: ['export', 'q', '--entities', ...TO],
      says: /^Give either the path/,
    },
    'an export to a place that does not exist': {
      args: ['export', 'q', '--out', '/nonexistent/x', ...TO],
      says: /^The file \/nonexistent\/x cannot be written: there is no such directory\.$/,
    },
    'an import of nothing': {
      args: ['import', ...TO],
      says: /^Give either the path of a queue or topic/,
    },
    'properties beside --batch': {
      args: ['send', 'q', '--batch', '--subject', 's', ...TO],
      says: /^With --batch, /,
    },
    'no connection string': {
      args: ['peek', 'q'],
      says: /^No namespace is given: .*--to.*DYNABUS_CONNECTION_STRING/,
    },
    'a connection string that is none': {
      args: ['peek', 'q', '--to', 'localhost'],
      says: /^The connection string /,
    },
    'a connection string without a key': {
      args: ['list', '--to', 'Endpoint=sb://h/;SharedAccessKeyName=r'],
      says: /^The connection string has no SharedAccessKey\./,
    },
  };

for (const [what, { args, says }] of Object.entries(WRONG)) {
  test(`${what} is refused with a sentence and exit code 2`, async () => {
    const { code, stdout, stderr } = await runCommand(args);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, '');
    assert.match(stderr.trimEnd(), says);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  });
}

test('a process ends with the exit codes 0, 1 and 2, and prints no stack trace', async () => {
  const [help, wrong, unreachable] = await Promise.all([
    runProcess(['--help']),
    runProcess(['send', 'q']),
    runProcess(['peek', 'q', '--to', connectionString('http://localhost:9')]),
  ]);
  assert.deepEqual([help.code, wrong.code, unreachable.code], [0, 2, 1]);
  for (const { stderr } of [wrong, unreachable]) assert.doesNotMatch(stderr, /\n {4}at /);
});

test('an address where nothing listens is named with what to do', async () => {
  const url = `http://localhost:${await freePort()}`;
  const { code, stderr } = await runCommand(['peek', 'q', '--to', connectionString(url)]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `Nothing listens at ${url}. Start a namespace with 'dynabus start', or correct the Endpoint of the connection string. (ECONNREFUSED)\n`,
  );
});
