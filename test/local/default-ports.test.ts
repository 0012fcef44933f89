import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listenOnDefaultPorts, refusedPortWarning } from '../../local/default-ports.ts';
import { freePort, startCli } from './cli.ts';

/** An address that only this file uses: on Linux every address of 127/8 is this machine. */
const HOST = process.platform === 'linux' ? '127.53.67.2' : '127.0.0.1';

/** Takes a port, as another process would. */
async function holdPort(t: TestContext, port: number): Promise<number> {
  const server: Server = createServer().listen(port, HOST);
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  return address.port;
}

test('if another process has port 5672, the server says why AMQP clients without a port do not reach it', async (t) => {
  await holdPort(t, 5672);
  const port = await freePort(HOST);
  const args = ['--engine', 'dynoxide', '--host', HOST, '--port', String(port)];
  const cli = startCli(t, { args });
  await cli.untilPrinted('/messages/head');
  assert.equal(
    cli.errors(),
    `Port 5672 on ${HOST} is taken by another process, so AMQP clients that name no port do not reach this server. AMQP works on port ${port}: name it in the address of the client, or stop what listens on 5672 and start again.\n`,
  );
  assert.match(cli.output(), /, for AMQP on 5671 too\n/);
});

test('each taken default port gives one warning, and the server listens on the others', async (t) => {
  const taken = await holdPort(t, 0);
  const [own, other] = [await freePort(HOST), await freePort(HOST)];
  const sentences: string[] = [];
  const listening = await listenOnDefaultPorts(
    { host: HOST, port: own },
    (socket) => socket.end('served'),
    (sentence) => sentences.push(sentence),
    [taken, own, other],
  );
  t.after(() => listening.close());
  assert.deepEqual(listening.ports, [other]);
  assert.deepEqual(sentences, [
    refusedPortWarning({ port: taken, code: 'EADDRINUSE' }, { host: HOST, port: own }),
  ]);
});

test('a default port without permission has its own reason in the warning', () => {
  const warning = refusedPortWarning({ port: 5671, code: 'EACCES' }, { host: HOST, port: 5300 });
  assert.match(warning, /^Port 5671 on \S+ is not available \(EACCES\), so /);
});
