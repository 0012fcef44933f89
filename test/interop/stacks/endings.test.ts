import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { descendants, temporaryDirectory, until, untilEnded } from '../../local/cli.ts';
import { endGroup, runProgram } from './run-program.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** A program that hangs, and so does what it starts; it says so in a file. */
const HANGING = 'sleep 120 & echo $! > "$STARTED.new"; mv "$STARTED.new" "$STARTED"; wait';

/** When a signal comes: once there is a file of that name. */
const WHILE = [
  ['the server starts', 'data', 'SIGINT'],
  ['checks run', 'started', 'SIGTERM'],
] as const;

for (const [what, file, signal] of WHILE) {
  test(`${signal} while ${what} ends all of npm run stacks, and removes its folder`, {
    timeout: 60_000,
  }, async (t) => {
    const place = temporaryDirectory(t);
    const PYTHON = join(place, 'python');
    writeFileSync(PYTHON, `#!/bin/sh\n${HANGING}\n`, { mode: 0o700 });
    const args = ['--import', 'tsx', 'test/interop/stacks/run.ts', 'proton'];
    const STARTED = join(place, 'started');
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined, TMPDIR: place, PYTHON, STARTED };
    const run = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore', detached: true });
    t.after(() => endGroup(run.pid));
    const files = () => readdirSync(place, { recursive: true, encoding: 'utf8' });
    await until(what, () => files().some((path) => basename(path) === file));
    const below = descendants(run.pid);

    run.kill(signal);

    assert.deepEqual(await once(run, 'exit'), [128 + constants.signals[signal], null]);
    await untilEnded(below);
    assert.deepEqual(
      files().filter((path) => path.startsWith('stacks-')),
      [],
    );
  });
}

test('a program that hangs is ended with all that it has started', async (t) => {
  const STARTED = join(temporaryDirectory(t), 'started');
  const late = new AbortController();
  const bounds = { stop: new AbortController().signal, late: late.signal };
  const running = runProgram('sh', ['-c', HANGING], { STARTED }, bounds);
  await until('it runs', () => existsSync(STARTED));

  late.abort();

  assert.deepEqual(await running, { end: 'hung', output: '' });
  await untilEnded([Number(readFileSync(STARTED, 'utf8'))]);
});

test('what a program leaves behind ends with it', async () => {
  const never = new AbortController().signal;
  const script = 'sleep 120 > /dev/null & echo $!; exit 3';
  const { end, output } = await runProgram('sh', ['-c', script], {}, { stop: never, late: never });
  assert.equal(end, 3);
  await untilEnded([Number(output)]);
});
