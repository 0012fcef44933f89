import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connectionString, linesOf, sharedNamespace } from './run-command.ts';

/** Ctrl-C while a request is under way: the service may have done it already, so its answer is printed. */

const bus = sharedNamespace();

/** A way to the namespace on which Ctrl-C comes between a request and its answer. */
async function interruptedWay(t: TestContext, interruptAt: RegExp) {
  const controller = new AbortController();
  const { DYNABUS_CONNECTION_STRING: direct } = await bus.environment();
  const [, host = ''] = /sb:\/\/([^;]+)/.exec(direct) ?? [];
  const proxy = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const { authorization = '', 'content-type': type = '' } = headers;
    const answer = await fetch(`http://${host}${url}`, {
      method,
      headers: {
        Authorization: authorization,
        ...(type === '' ? {} : { 'Content-Type': type }),
        Accept: 'application/json',
      },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    if (interruptAt.test(`${method} ${url}`)) controller.abort();
    response.statusCode = answer.status;
    response.end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  const env = { DYNABUS_CONNECTION_STRING: connectionString(`http://localhost:${port}`) };
  return { signal: controller.signal, env };
}

const HEAD = /\/messages\/head/;

test('Ctrl-C during a receive that deletes prints what the service has removed', async (t) => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '150']);
  const way = await interruptedWay(t, HEAD);
  const args = ['receive', queue, '--mode', 'delete', '--count', '150', '--json'];
  const { code, stdout, stderr } = await bus.run(args, way);
  assert.deepEqual([code, stderr], [130, '']);
  const left = linesOf(await bus.succeed(['peek', queue, '--all', '--json']));
  assert.equal(linesOf(stdout).length + left.length, 150);
  assert.ok(left.length > 0, 'Ctrl-C begins no further request.');
});

test('Ctrl-C during a receive completes what it prints', async (t) => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '3']);
  const { code, stdout } = await bus.run(
    ['receive', queue, '--count', '2', '--json'],
    await interruptedWay(t, HEAD),
  );
  assert.deepEqual([code, linesOf(stdout).length], [130, 2]);
  const [left, ...more] = linesOf(await bus.succeed(['peek', queue, '--json']));
  assert.deepEqual([JSON.parse(left ?? '').BrokerProperties.SequenceNumber, more], [3, []]);
});

test('Ctrl-C while a session is accepted gives the session back', async (t) => {
  const queue = await bus.queue('<RequiresSession>true</RequiresSession>');
  await bus.succeed(['send', queue, 'x', '--session-id', 's']);
  const way = await interruptedWay(t, /sessions\/\$accept/);
  const { code, stdout, stderr } = await bus.run(['receive', queue, '--session', 's'], way);
  assert.deepEqual([code, stdout, stderr], [130, '', '']);
  const again = ['receive', queue, '--session', 's', '--json', '--wait', '0s'];
  assert.equal(linesOf(await bus.succeed(again)).length, 1);
});

test('Ctrl-C during an export to the output prints the page under way', async (t) => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x', '--count', '300']);
  const { code, stdout } = await bus.run(
    ['export', queue],
    await interruptedWay(t, /messages\?.*maxMessages/),
  );
  assert.deepEqual([code, linesOf(stdout).length], [130, 250]);
});
