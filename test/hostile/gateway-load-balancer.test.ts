import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { GATEWAY_VARIABLES } from '../../gateway/variables.ts';
import { createSasToken } from '../../shared/auth/sas-token.ts';
import {
  type GatewayTasks,
  prepareTasks,
  ROOT_KEY,
  type TaskOptions,
} from '../interop/gateway/gateway-task.ts';
import { rawHttp, requestText } from '../support/http-conversation.ts';
import { localHeader, proxyHeader, proxyHeaderOf } from '../support/proxy-header.ts';
import { startBroker } from '../support/start-broker.ts';

const ONE = '198.51.100.1';
const OTHER = '198.51.100.2';

/** The bytes of a request without a body that asks to close the connection. */
const requestBytes = (line: string, fields: Readonly<Record<string, string>> = {}) =>
  Buffer.from(requestText(line, { Connection: 'close', 'Content-Length': '0', ...fields }));

const HEALTH = requestBytes('GET /$health');

/** Writes bytes, and waits until the connection is closed; the status is 0 without an answer. */
async function exchange(port: number, ...parts: readonly Uint8Array[]) {
  const { statuses, text } = await rawHttp(port, [Buffer.concat(parts)], Number.POSITIVE_INFINITY);
  return { status: statuses[0] ?? 0, text };
}

/** A request without a token: the status 401 shows that it reached the routes. */
function ask(port: number, client: string) {
  return exchange(port, proxyHeader(client), requestBytes('POST /queue/messages'));
}

describe('the gateway behind its load balancer', () => {
  let tasks: GatewayTasks;
  before(async () => {
    tasks = await prepareTasks();
  });
  after(() => tasks.stop());

  async function start(env: TaskOptions['env'] = {}) {
    const task = await tasks.start({ env });
    return {
      ...task,
      health: (client: string) => exchange(task.ownPort, proxyHeader(client), HEALTH),
    };
  }

  test('row 21: health checks are answered with and without a PROXY header; other requests need a client address', async () => {
    const { ownPort, lines } = await start();
    const upgrade = requestBytes('GET /$servicebus/websocket', {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Protocol': 'AMQPWSB10',
    });
    for (const header of [new Uint8Array(), localHeader()]) {
      assert.equal((await exchange(ownPort, header, HEALTH)).status, 200);
      const answer = await exchange(ownPort, header, requestBytes('GET /queue/messages/head'));
      assert.equal(answer.status, 403);
      assert.match(answer.text, /Connect by way of the load balancer/);
      const amqp = await exchange(ownPort, header, Buffer.from('AMQP\0\x01\0\0', 'latin1'));
      assert.doesNotMatch(amqp.text, /^AMQP/);
      assert.equal((await exchange(ownPort, header, upgrade)).status, 0);
    }
    assert.equal((await ask(ownPort, ONE)).status, 401);
    assert.deepEqual(
      lines().filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('row 21: a malformed PROXY header ends the connection, and a second one is not trusted', async () => {
    const { ownPort } = await start({ [GATEWAY_VARIABLES.requestsOfAddress]: '0/2' });
    const malformed = proxyHeaderOf(0x21, 0x12, Buffer.alloc(12));
    assert.deepEqual(await exchange(ownPort, malformed, HEALTH), { status: 0, text: '' });
    // The bytes of a client follow those of the load balancer.
    const claimed = await exchange(ownPort, proxyHeader(ONE), proxyHeader(OTHER), HEALTH);
    assert.equal(claimed.status, 400);
  });

  test('row 21: an address that has used up its requests gets "server busy"; others are served', async () => {
    const { health } = await start({ [GATEWAY_VARIABLES.requestsOfAddress]: '0/5' });
    for (let request = 0; request < 5; request++) assert.equal((await health(ONE)).status, 200);
    const { status, text } = await health(ONE);
    assert.equal(status, 503);
    assert.match(text, /retry-after: 1\r\n/i);
    assert.match(text, /x-dynabus-error: ServiceBusy/i);
    assert.match(text, /Too many requests a second from your address\. Wait a moment/);
    assert.equal((await health(OTHER)).status, 200);
  });

  test('row 21: the access log has refused requests, and requests whose client does not wait', async () => {
    const { ownPort, health, untilLine } = await start({
      [GATEWAY_VARIABLES.requestsOfAddress]: '0/2',
      [GATEWAY_VARIABLES.accessLog]: 'true',
    });
    const isLogged = (path: string, status: number) =>
      untilLine((line) => line['path'] === path && line['status'] === status);
    const impatient = connect(ownPort, '127.0.0.1');
    impatient.end(Buffer.concat([proxyHeader(ONE), requestBytes('GET /impatient/messages')]), () =>
      impatient.resetAndDestroy(),
    );
    await isLogged('/impatient/messages', 401);
    assert.equal((await health(ONE)).status, 503);
    await isLogged('/$health', 503);
  });

  test('row 21: an unauthorized request counts as ten', async () => {
    const { ownPort, health } = await start({ [GATEWAY_VARIABLES.requestsOfAddress]: '0/21' });
    assert.equal((await ask(ownPort, ONE)).status, 401);
    assert.equal((await ask(ownPort, ONE)).status, 401);
    assert.equal((await health(ONE)).status, 200);
    assert.equal((await health(ONE)).status, 503);
  });

  test('row 21: all addresses together have as many authorized requests as the stage allows', async () => {
    const { ownPort, health } = await start({ [GATEWAY_VARIABLES.requests]: '0/3' });
    // Unauthorized requests use up none of them.
    for (let request = 0; request < 4; request++) {
      assert.equal((await ask(ownPort, ONE)).status, 401);
      assert.equal((await health(ONE)).status, 200);
    }
    const Authorization = createSasToken({
      audience: 'sb://localhost',
      keyName: 'RootManageSharedAccessKey',
      key: ROOT_KEY,
      expiresAt: Date.UTC(9999, 0, 1),
    });
    const list = requestBytes('GET /$Resources/Queues', { Authorization });
    const answers: number[] = [];
    for (const client of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']) {
      answers.push((await exchange(ownPort, proxyHeader(client), list)).status);
    }
    assert.deepEqual(answers, [200, 200, 200, 503]);
  });

  test('row 21: an address above its rate of new connections is disconnected before its input is read', async () => {
    const { health, child, untilLine } = await start({ [GATEWAY_VARIABLES.newConnections]: '0/3' });
    const answers: number[] = [];
    for (let connection = 0; connection < 5; connection++) answers.push((await health(ONE)).status);
    assert.deepEqual(answers, [200, 200, 200, 0, 0]);
    assert.equal((await health(OTHER)).status, 200);
    child.kill('SIGTERM');
    await untilLine(({ refusedConnections }) => refusedConnections === 2);
  });

  test('row 21: an address has a limited number of open connections; one that ends makes room', async () => {
    const { ownPort, health } = await start({ [GATEWAY_VARIABLES.openConnections]: '1' });
    const staying = connect(ownPort, '127.0.0.1');
    staying.write(Buffer.concat([proxyHeader(ONE), Buffer.from('AMQP\0\x01\0\0', 'latin1')]));
    await once(staying, 'data');
    assert.equal((await health(ONE)).status, 0);
    assert.equal((await health(OTHER)).status, 200);
    staying.destroy();
    // The gateway notices the end a little later.
    for (let tries = 0; tries < 1000; tries++) if ((await health(ONE)).status === 200) return;
    assert.fail('the connection that ended still counts');
  });
});

test('row 21: without a configured load balancer no PROXY header is trusted', async (t) => {
  const broker = await startBroker(t);
  const port = Number(new URL(broker.api.url).port);
  assert.equal((await exchange(port, proxyHeader(ONE), HEALTH)).status, 400);
  assert.equal((await exchange(port, HEALTH)).status, 200);
});
