import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listenOnUsualPorts, refusedPortWarning } from '../../local/usual-ports.ts';
import { startCli } from './cli.ts';

/** Of this file alone: any address of 127/8 is this machine, on Linux. */
const HOST = process.platform === 'linux' ? '127.53.67.2' : '127.0.0.1';

/** Another process, as far as the server can tell, that has a port. */
async function holdPort(t: TestContext, port: number): Promise<number> {
  const server: Server = createServer().listen(port, HOST);
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  return address.port;
}

test('another broker had port 5672, and the server did not say why AMQP clients without a port found that one', async (t) => {
  await holdPort(t, 5672);
  const port = await freePort();
  const args = ['--engine', 'dynoxide', '--host', HOST, '--port', String(port)];
  const cli = startCli(t, { args });
  await cli.untilPrinted('/messages/head');
  assert.equal(
    cli.errors(),
    `Port 5672 on ${HOST} is taken by another process, so AMQP clients that name no port do not reach this server. AMQP works on port ${port}: name it in the address of the client, or stop what listens on 5672 and start again.\n`,
  );
  assert.match(cli.output(), /, for AMQP on 5671 too\n/);
});

test('a usual port that is taken is told once, and the others are served', async (t) => {
  const taken = await holdPort(t, 0);
  const [own, other] = [await freePort(), await freePort()];
  const sentences: string[] = [];
  const usual = await listenOnUsualPorts(
    { host: HOST, port: own },
    (socket) => socket.end('served'),
    (sentence) => sentences.push(sentence),
    [taken, own, other],
  );
  t.after(() => usual.close());
  assert.deepEqual(usual.ports, [other]);
  assert.deepEqual(sentences, [
    refusedPortWarning({ port: taken, code: 'EADDRINUSE' }, { host: HOST, port: own }),
  ]);
});

test('a usual port that may not be used has another reason', () => {
  const said = refusedPortWarning({ port: 5671, code: 'EACCES' }, { host: HOST, port: 5300 });
  assert.match(said, /^Port 5671 on \S+ is not available \(EACCES\), so /);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  server.close();
  await once(server, 'close');
  return address.port;
}
