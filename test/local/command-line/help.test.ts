import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from '../../../local/command-line/program.ts';
import { runCommand } from './run-command.ts';

/** The help and the version. */

test('without arguments the help is printed, as with --help, and each command has examples', async () => {
  const bare = await runCommand([]);
  const help = await runCommand(['--help']);
  assert.deepEqual(bare, help);
  assert.match(help.stdout, /^Usage: dynabus .*Examples:\n {2}dynabus start\n/s);
  for (const { name, examples } of COMMANDS) {
    const { code, stdout } = await runCommand([name, '--help']);
    assert.equal(code, 0);
    assert.ok(
      examples.length >= 2 && examples.every((line) => stdout.includes(`  ${line}\n`)),
      name,
    );
  }
});

test('the descriptions in the help have one style', () => {
  for (const { name, summary, arguments: all, options } of COMMANDS) {
    const meanings = [...all, ...options].map(([, meaning]) => meaning);
    for (const text of [summary, ...meanings]) {
      assert.match(text, /^[a-z][^A-Z]/, `${name}: ${text}`);
      assert.doesNotMatch(text, /\.$/, `${name}: ${text}`);
    }
  }
});

test('the help of start has the exit codes of a server', async () => {
  const { stdout } = await runCommand(['start', '--help']);
  assert.match(stdout, /\nExit codes: 0 ended by a signal; 1 [^\n]+; 2 wrong input\.\n+$/);
  const other = await runCommand(['send', '--help']);
  assert.match(other.stdout, /^Usage[^\n]+\n\nSend messages to a queue or topic\.\n/);
  assert.match(other.stdout, /; 130 interrupted\.\n+$/);
});

test('--version prints the version', async () => {
  assert.match((await runCommand(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
});
