import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { untilEngineAnswers } from '../../local/engine/engine-wait.ts';
import { freePort, startCli } from './cli.ts';

/** The server starts while no engine runs at DYNAMODB_ENDPOINT, or another kind of server. */

/**
 * An address of this machine on which no other test listens, so that no other server takes a port there before the
 * test does. Only Linux has more than one.
 */
const HOST = process.platform === 'linux' ? `127.77.${randomInt(256)}.77` : '127.0.0.1';

async function listen(
  t: TestContext,
  server: Server,
  { host = HOST, port = 0 } = {},
): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  return address.port;
}

const startFor = (t: TestContext, endpoint: string, ...args: string[]) =>
  startCli(t, { args: ['--port', '0', ...args], env: { DYNAMODB_ENDPOINT: endpoint } });

test('a server that starts before its engine waits for it, and then serves', async (t) => {
  const engine = process.env['DYNAMODB_ENDPOINT'];
  if (engine === undefined) return t.skip('no engine: start through test/run.ts');
  // DynamoDB Local answers no requests to another host.
  const host = '127.0.0.1';
  const port = await freePort(host);
  const endpoint = `http://${host}:${port}`;
  const cli = startFor(t, endpoint);
  await cli.untilPrinted(`Waiting for the engine at ${endpoint}`);
  assert.match(cli.output(), /\(ECONNREFUSED\)\. Start it, or correct DYNAMODB_ENDPOINT\.\n/);

  const { hostname, port: enginePort } = new URL(engine);
  const relay = createServer((socket) => {
    const onward = connect(Number(enginePort), hostname);
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await listen(t, relay, { host, port });

  await cli.untilPrinted('/messages/head');
  assert.match(cli.output(), /Listening on http/);
  assert.equal(cli.errors(), '');
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends a server that waits for its engine`, async (t) => {
    const cli = startFor(t, `http://${HOST}:${await freePort(HOST)}`);
    await cli.untilPrinted('Waiting for the engine');
    cli.child.kill(signal);
    assert.equal(await cli.ended, 0);
    assert.match(cli.output(), /Stopped\n$/);
    assert.equal(cli.errors(), '');
  });
}

test('with --quiet the server reports on the error output that it waits, and prints nothing else', async (t) => {
  const endpoint = `http://${HOST}:${await freePort(HOST)}`;
  const cli = startFor(t, endpoint, '--quiet');
  await cli.untilReported('Waiting for the engine');
  cli.child.kill('SIGTERM');
  assert.equal(await cli.ended, 0);
  assert.equal(cli.output(), '');
});

const OTHERS = {
  'a web server': () => createHttpServer((_, answer) => answer.end('<html></html>')),
  'a web server without pages': () =>
    createHttpServer((_, answer) => answer.writeHead(404).end('Not found')),
  'an empty answer': () => createHttpServer((_, answer) => answer.end()),
  'another protocol': () =>
    createServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n')),
} as const;

for (const [what, start] of Object.entries(OTHERS)) {
  test(`an endpoint that is not an engine (${what}) gives one sentence and exit code 1`, async (t) => {
    const endpoint = `http://${HOST}:${await listen(t, start())}`;
    const cli = startFor(t, endpoint);
    assert.equal(await cli.ended, 1);
    const [line, ...more] = cli.errors().split('\n');
    assert.ok(line?.startsWith(`The server at ${endpoint} is not a DynamoDB engine: `), line);
    assert.ok(line?.endsWith('. Correct DYNAMODB_ENDPOINT.'));
    assert.deepEqual(more, ['']);
  });
}

test('while the engine does not answer, the server reports it at once and every 10 seconds', async () => {
  let now = Date.UTC(2026, 0, 1);
  const lines: string[] = [];
  const reasons = Array.from({ length: 45 }, () => 'it cannot be reached (ECONNREFUSED)');
  await untilEngineAnswers({
    endpoint: 'http://127.0.0.1:9',
    probe: async () => reasons.pop(),
    say: (line) => lines.push(line),
    pause: async (ms) => {
      now += ms;
    },
    now: () => now,
  });
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? '', /^Waiting for the engine at http:\/\/127\.0\.0\.1:9: it cannot/);
  assert.match(lines[2] ?? '', / since \d\d:\d\d:\d\d, for 20 s: it cannot be reached/);
});
