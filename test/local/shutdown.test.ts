import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import {
  descendants,
  QUEUE_ENTRY,
  startCli,
  startNamespaceCli,
  temporaryDirectory,
  tokenIn,
  until,
  untilEnded,
} from './cli.ts';

const ENGINES = ['dynamodb-local', 'dynoxide'] as const;

for (const engine of ENGINES) {
  test(`SIGTERM stops the server gracefully and leaves no process: ${engine}`, async (t) => {
    const cli = await startNamespaceCli(t, { args: ['--engine', engine] });
    const below = descendants(cli.child.pid);
    assert.ok(below.length >= 2, 'a supervisor and an engine run below the server');

    cli.child.kill('SIGTERM');

    assert.equal(await cli.ended, 0);
    await untilEnded(below);
    assert.match(cli.output(), /s {2}Stopped\n$/);
    assert.equal(cli.errors(), '');
  });

  test(`kill -9 of the server leaves no process: ${engine}`, async (t) => {
    const cli = await startNamespaceCli(t, { args: ['--engine', engine] });
    const below = descendants(cli.child.pid);
    assert.ok(below.length >= 2, 'a supervisor and an engine run below the server');

    cli.child.kill('SIGKILL');

    assert.equal(await cli.ended, 'SIGKILL');
    await untilEnded(below);
  });
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`${signal} during the start leaves no process and no file: dynamodb-local`, async (t) => {
    const place = temporaryDirectory(t);
    const args = ['--port', '0', '--engine', 'dynamodb-local'];
    const cli = startCli(t, { args, env: { TMPDIR: place } });
    const created = () => readdirSync(place).filter((name) => name.startsWith('dynabus-'));
    await until('the class of the engine is written', () => created().length > 0);
    const below = descendants(cli.child.pid);

    cli.child.kill(signal);

    await cli.ended;
    await untilEnded(below);
    await until('no file is left', () => created().length === 0);
    assert.doesNotMatch(cli.output(), /Engine answers/);
  });
}

test('kill -9 of the supervisor ends the engine, and the server reports it', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const below = descendants(cli.child.pid);
  const supervisor = below.find((pid) => descendants(pid).length > 0);
  assert.ok(supervisor);

  process.kill(supervisor, 'SIGKILL');

  assert.equal(await cli.ended, 1);
  await untilEnded(below);
  assert.match(cli.errors(), /^The engine ended unexpectedly\./);
});

test('Ctrl-C lets a request finish, with the engine still running', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'], ownGroup: true });
  const upload = request(`${cli.url}/hello`, {
    method: 'PUT',
    headers: { expect: '100-continue', authorization: tokenIn(cli.output()) },
  });
  upload.flushHeaders();
  await once(upload, 'continue'); // The server has the request and waits for its body.

  process.kill(-(cli.child.pid ?? 0), 'SIGINT'); // As a terminal does: to the whole group.
  await cli.untilPrinted('Stopping');
  upload.end(QUEUE_ENTRY);

  const [response]: IncomingMessage[] = await once(upload, 'response');
  assert.equal(response?.statusCode, 201);
  response.resume();
  assert.equal(await cli.ended, 0);
});

test('a second signal ends the server at once', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const upload = request(`${cli.url}/hello`, {
    method: 'PUT',
    headers: { expect: '100-continue', authorization: tokenIn(cli.output()) },
  });
  upload.flushHeaders();
  upload.on('error', () => {}); // The server cuts it off.
  await once(upload, 'continue');
  const below = descendants(cli.child.pid);

  cli.child.kill('SIGTERM');
  await cli.untilPrinted('Stopping');
  cli.child.kill('SIGTERM');

  assert.equal(await cli.ended, 143);
  await untilEnded(below);
});
