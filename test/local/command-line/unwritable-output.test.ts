import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { commandLine } from '../../runner/built-server.ts';
import { temporaryDirectory } from '../cli.ts';
import { linesOf, sharedNamespace } from './run-command.ts';

/** Outputs that cannot be written: nothing is lost, and nothing is called done that is not. */

const bus = sharedNamespace();
const FULL = '/dev/full';
const isFullThere = statSync(FULL, { throwIfNoEntry: false }) !== undefined;

/** Runs the command line as a process whose output is a file or device. */
async function runInto(path: string, args: readonly string[], flags = 'w') {
  const descriptor = openSync(path, flags);
  const child = spawn(process.execPath, [...commandLine(), ...args], {
    env: { ...process.env, ...(await bus.environment()) },
    stdio: ['ignore', descriptor, 'pipe'],
  });
  closeSync(descriptor);
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stderr };
}

async function bodiesIn(queue: string): Promise<readonly string[]> {
  const lines = linesOf(await bus.succeed(['peek', queue, '--all', '--json', '--quiet']));
  return lines.map((line) => JSON.parse(line).Body);
}

const FULL_SENTENCE = 'The output cannot be written: the disk is full.\n';

test('a receive whose output is a full disk settles nothing and ends with 1', {
  skip: !isFullThere,
}, async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '3']);
  for (const options of [[], ['--dead-letter'], ['--abandon'], ['--json']]) {
    const { code, stderr } = await runInto(FULL, ['receive', queue, '--count', '2', ...options]);
    assert.deepEqual([code, stderr], [1, FULL_SENTENCE], options.join());
    assert.deepEqual(await bodiesIn(queue), ['x', 'x', 'x']);
  }
  const { code, stderr } = await runInto(FULL, [
    'receive',
    queue,
    '--count',
    '2',
    '--mode',
    'delete',
  ]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `Removed by the service and perhaps not printed: 2 messages, sequence numbers from 1 to 2.\n${FULL_SENTENCE}`,
  );
});

test('the other commands end with 1 if their output is a full disk', {
  skip: !isFullThere,
}, async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x']);
  for (const args of [
    ['export', queue],
    ['export', '--entities'],
    ['list'],
    ['peek', queue],
    ['send', queue, 'y'],
    ['deploy-info'],
    ['--help'],
  ]) {
    const { code, stderr } = await runInto(FULL, args);
    assert.deepEqual([code, stderr], [1, FULL_SENTENCE], args.join(' '));
  }
  for (const args of [
    ['export', queue],
    ['export', '--entities'],
  ]) {
    const { code, stderr } = await bus.run([...args, '--out', FULL]);
    assert.deepEqual(
      [code, stderr],
      [1, 'The file /dev/full cannot be written: the disk is full.\n'],
    );
  }
});

test('a receive whose file gets too large settles nothing that was not written', async (t) => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x'.repeat(3000)]);
  const file = join(temporaryDirectory(t), 'received');
  // The limit lets the system take a part of the message.
  const script = `trap '' XFSZ; ulimit -f 2; exec "$0" "$@" > '${file}'`;
  const args = [...commandLine(), 'receive', queue, '--json'];
  const child = spawn('sh', ['-c', script, process.execPath, ...args], {
    env: { ...process.env, ...(await bus.environment()) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  assert.deepEqual([code, stderr], [1, 'The output cannot be written: it would be too large.\n']);
  assert.equal((await bodiesIn(queue)).length, 1);
});

test('an export leaves a file as it is until it is complete', async (t) => {
  const queue = await bus.queue();
  const directory = temporaryDirectory(t);
  const file = join(directory, 'messages.ndjson');
  const link = join(directory, 'link.ndjson');
  writeFileSync(file, 'before', { mode: 0o644 });
  symlinkSync(file, link);
  await bus.succeed(['send', queue, 'x', '--count', '300']);
  assert.equal((await bus.run(['export', 'nobody', '--out', file])).code, 1);
  assert.equal(readFileSync(file, 'utf8'), 'before');
  assert.deepEqual(readdirSync(directory).sort(), ['link.ndjson', 'messages.ndjson']);

  const controller = new AbortController();
  controller.abort();
  const stopped = await bus.run(['export', queue, '--out', file], { signal: controller.signal });
  assert.equal(stopped.code, 130);
  assert.equal(readFileSync(file, 'utf8'), 'before');
  const partial = readdirSync(directory).find((name) => name.endsWith('.partial')) ?? '';
  assert.match(partial, /^messages\.ndjson\.[\da-f]{8}\.partial$/);
  assert.equal(linesOf(readFileSync(join(directory, partial), 'utf8')).length, 250);
  assert.ok(stopped.stderr.includes(`${file} is as it was; what was exported until then is in `));
  assert.ok(stopped.stderr.includes(partial));

  await bus.succeed(['export', queue, '--out', link]);
  assert.equal(linesOf(readFileSync(file, 'utf8')).length, 300);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a file that an export cannot write is named with the reason', async (t) => {
  const directory = temporaryDirectory(t);
  const readOnly = join(directory, 'read-only');
  writeFileSync(readOnly, '');
  chmodSync(readOnly, 0o400);
  const reasons: readonly (readonly [string, string])[] = [
    [directory, 'it is a directory'],
    [join(directory, 'missing', 'x'), 'there is no such directory'],
    [join(readOnly, 'x'), 'a part of its path is not a directory'],
    // The superuser may write to any file.
    ...(process.getuid?.() === 0 ? [] : [[readOnly, 'permission denied'] as const]),
  ];
  for (const [file, reason] of reasons) {
    const { code, stderr } = await bus.run(['export', 'q', '--out', file]);
    assert.deepEqual([code, stderr], [2, `The file ${file} cannot be written: ${reason}.\n`]);
  }
  assert.deepEqual(readdirSync(directory), [basename(readOnly)]);
});
