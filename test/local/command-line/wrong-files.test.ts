import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../cli.ts';
import { connectionString, runCommand } from './run-command.ts';

/** Files and inputs that cannot be used: a sentence, exit code 2, and nothing is called. */

/** Nothing listens there: a command that would call the namespace ends with 1. */
const TO = ['--to', connectionString('http://localhost:9')];

test('a wrong file of outputs or entities is refused', async (t) => {
  const directory = temporaryDirectory(t);
  const file = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const noJson = file('no.json', '{');
  const empty = file('empty.json', '{}');
  for (const args of [
    ['deploy-info', '--outputs', noJson],
    ['deploy-info', '--outputs', empty],
    ['import', '--entities', join(directory, 'missing.json'), ...TO],
    ['start', '--config', join(directory, 'missing.json')],
    ['start', '--ready-file', join(directory, 'missing', 'ready.json')],
  ]) {
    const { code, stderr } = await runCommand(args);
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, /^[A-Z][^\n]+\.\n$/);
  }
  const other = file('other.json', '[]');
  const nameless = file('nameless.json', '{"UserConfig":{"Namespaces":[{"Queues":[{}]}]}}');
  for (const path of [noJson, other, nameless]) {
    const { code, stderr } = await runCommand(['import', '--entities', path, ...TO]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^The configuration [^\n]+ cannot be used\. Change this:\n[^\n]+\.\n$/);
  }
});

test('a file and an input that are too large for a message are named', async (t) => {
  const file = join(temporaryDirectory(t), 'large');
  writeFileSync(file, '');
  truncateSync(file, 101 * 1024 * 1024);
  const fromFile = await runCommand(['send', 'q', '--file', file, ...TO]);
  const line = Buffer.alloc(10 * 1024 * 1024, 'x');
  const fromLine = await runCommand(['import', 'q', ...TO], { stdin: line });
  assert.deepEqual(
    [fromFile.code, fromFile.stderr, fromLine.code, fromLine.stderr.split('\n').at(-2)],
    [
      2,
      `The file ${file} is larger than 100 MB, the most that is read.\n`,
      2,
      'Line 1 is longer than 9 MB.',
    ],
  );
});
