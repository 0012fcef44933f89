import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../../local/command-line/program.ts';
import { commandLine } from '../../runner/built-server.ts';
import { curlLines, paste, startNamespaceCli, temporaryDirectory } from '../cli.ts';
import { sharedNamespace } from './run-command.ts';

/** The examples of the help work as they are pasted into a shell. */

const ENTITIES = {
  UserConfig: {
    Namespaces: [
      {
        Name: 'ns',
        Queues: [{ Name: 'orders' }, { Name: 'archive' }],
        Topics: [{ Name: 'events', Subscriptions: [{ Name: 'billing' }] }],
      },
    ],
  },
};
const OUTPUTS = { bus: { Endpoint: 'https://x.example', RootKeySecretName: 's' } };
/** What an example ends with, if not with 0. */
const OTHER_CODES: Readonly<Record<string, number>> = {
  // There is no terminal to ask on.
  "dynabus purge 'orders/$deadletterqueue'": 2,
  // There are no such dead letters.
  "dynabus resubmit 'orders/$deadletterqueue' --sequence-numbers 1,2": 1,
};

/** Runs lines in a shell in which `dynabus` and `npx dynabus` are the command line under test. */
async function shell(lines: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const program = commandLine().map((part) => (/\.m?[jt]s$/.test(part) ? resolve(part) : part));
  const script = `dynabus() { ${process.execPath} ${program.join(' ')} "$@"; }\nnpx() { "$@"; }\n${lines}`;
  const child = spawn('sh', ['-c', script], {
    cwd,
    env: { ...process.env, DYNABUS_CONNECTION_STRING: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

test('the examples in the help of each command work', async (t) => {
  const bus = sharedNamespace();
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'Config.json'), JSON.stringify(ENTITIES));
  writeFileSync(join(directory, 'cdk-outputs.json'), JSON.stringify(OUTPUTS));
  await bus.succeed(['import', '--entities', join(directory, 'Config.json')]);
  const env = await bus.environment();
  for (const { examples } of COMMANDS.filter(({ callsNamespace }) => callsNamespace)) {
    // One after the other, since some work on the same messages.
    for (const line of examples) {
      const { code, output } = await shell(line, directory, env);
      assert.equal(code, OTHER_CODES[line] ?? 0, `${line}: ${output}`);
    }
  }
});

test('the command lines that a start prints work when pasted', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const [create = ''] = curlLines(cli.output());
  assert.match(paste(create), /\n201$/);
  const lines = cli
    .output()
    .split('\n')
    .filter((line) => /^(?:export|npx) /.test(line));
  assert.equal(lines.length, 4);
  const { code, output } = await shell(lines.join(' && '), temporaryDirectory(t));
  assert.equal(code, 0, output);
  assert.match(output, /Sent 1 message to hello\.\n#1 .*\nHello, bus\n.*queue +hello /s);
});
