import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startCli, startNamespaceCli, temporaryDirectory } from '../cli.ts';
import { runCommand, runProcess } from './run-command.ts';

/** `dynabus start` with a value that cannot be used: a sentence, exit code 2, and no engine is started. */

test('a server on ::1 says so to people and programs, and the command line reaches it', async (t) => {
  const ready = join(temporaryDirectory(t), 'ready.json');
  const probe = createServer();
  const hasAddress = await new Promise((resolve) => {
    probe.once('error', () => resolve(false)).listen(0, '::1', () => resolve(true));
  });
  probe.close();
  if (!hasAddress) return t.skip('This machine has no IPv6.');
  const args = ['--engine', 'dynoxide', '--host', '::1', '--ready-file', ready];
  const { url, output } = await startNamespaceCli(t, { args });
  assert.match(url, /^http:\/\/\[::1\]:\d+$/);
  const { connectionString, url: written } = JSON.parse(readFileSync(ready, 'utf8'));
  assert.equal(written, url);
  assert.ok(connectionString.startsWith(`Endpoint=sb://${new URL(url).host};`), connectionString);
  assert.ok(output().includes(connectionString));
  const facts = await runCommand(['deploy-info', '--json', '--to', connectionString]);
  assert.deepEqual([facts.code, JSON.parse(facts.stdout).address], [0, url]);
});

/** A directory with files that are no certificates. */
function oddFiles(t: TestContext): string {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'folder.pem'));
  writeFileSync(join(directory, 'other.pem'), 'something else');
  writeFileSync(join(directory, 'lonely-key.pem'), 'a key');
  return directory;
}

test('a certificate file that cannot be used is refused before an engine is started', async (t) => {
  const directory = oddFiles(t);
  const reasons = {
    'folder.pem': 'cannot be read: it is a directory.',
    'other.pem': 'does not hold a certificate as PEM.',
    'lonely.pem': /^The file .*lonely-key\.pem cannot be written: it exists already\.$/,
    'missing/cert.pem':
      /^The file .*cert-key\.pem cannot be written: there is no such directory\.$/,
    'other.pem/cert.pem':
      /cert-key\.pem cannot be written: a part of its path is not a directory\.$/,
  };
  const before = readdirSync(directory);
  for (const [name, reason] of Object.entries(reasons)) {
    const file = join(directory, name);
    const { code, stdout, stderr } = await runCommand([
      'start',
      '--port',
      '0',
      '--certificate',
      file,
    ]);
    assert.deepEqual([code, stdout], [2, ''], stderr);
    if (typeof reason === 'string') assert.equal(stderr, `The file ${file} ${reason}\n`);
    else assert.match(stderr.trimEnd(), reason);
  }
  assert.deepEqual(readdirSync(directory), before);
});

test('values of start that no machine can use are refused', async (t) => {
  const directory = oddFiles(t);
  const file = join(directory, 'other.pem');
  const key = ['--key', 'k'];
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [
      ['--data', '/dev/null'],
      /^The data directory \/dev\/null cannot be used: it is not a directory\.$/,
    ],
    [['--data', file], /cannot be used: it is not a directory\.$/],
    [
      ['--host', '192.0.2.1', ...key],
      /^This machine has no address 192\.0\.2\.1: choose another with --host\.$/,
    ],
    [['--host', 'nosuch.invalid', ...key], /^This machine has no address nosuch\.invalid: /],
    [
      ['--engine', 'mysql'],
      /^There is no engine 'mysql'; there are dynamodb-local and dynoxide\.$/,
    ],
    [['--tier', 'gold'], /^There is no tier 'gold'; there are standard, basic and premium\.$/],
  ];
  for (const [args, says] of wrong) {
    const { code, stdout, stderr } = await runProcess(['start', '--port', '0', ...args], {
      env: { DYNAMODB_ENDPOINT: undefined },
    });
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr.trimEnd(), says);
    assert.equal(stdout, '', args.join(' '));
  }
});

test('a port that is taken is no wrong input', async (t) => {
  const { url } = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const cli = startCli(t, { args: ['--port', new URL(url).port] });
  assert.equal(await cli.ended, 1);
  assert.match(cli.errors(), /^Port \d+ on 127\.0\.0\.1 is taken: /);
});
