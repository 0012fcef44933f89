import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { described, fieldsOf, list, mapOf, numberOf, str } from '../../../amqp/wire/value.ts';
import { startServer } from '../../../local/server.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { ROOT_TOKEN, startApp } from '../../support/http-fixture.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import { sourceOf, targetOf } from '../../support/raw-session.ts';
import { startBroker } from '../../support/start-broker.ts';

/** Row 11: connections with many refused tokens. */

const memory = new MemoryBudget(1e9);
const { refusals, refusalsAtOnce } = BUDGETS.connection;

const BAD_TOKEN = createSasToken({
  audience: 'sb://localhost/q',
  keyName: 'RootManageSharedAccessKey',
  key: 'guess',
  expiresAt: Date.UTC(9999, 0, 1),
});

test('row 11: a connection over HTTP is closed after twenty refused tokens', async (t) => {
  const { app } = startApp();
  const server = await startServer({ app, memory, host: '127.0.0.1', port: 0, refusalPauseMs: 0 });
  t.after(() => server.close());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = (authorization: string) =>
    new Promise<{ status: number | undefined; isReused: boolean; isLast: boolean }>(
      (resolve, reject) => {
        const options = { method: 'POST', agent, headers: { authorization } };
        const sent = request(`${server.url}/q/messages`, options, async (response) => {
          await response.toArray();
          const isLast = response.headers.connection === 'close';
          resolve({ status: response.statusCode, isReused: sent.reusedSocket, isLast });
        });
        sent.on('error', reject).end('x');
      },
    );
  for (let i = 1; i <= refusals; i++) {
    const isLast = i === refusals;
    assert.deepEqual(await ask(BAD_TOKEN), { status: 401, isReused: i > 1, isLast });
  }
  assert.deepEqual(await ask(ROOT_TOKEN), { status: 201, isReused: false, isLast: false });
  assert.deepEqual(await ask(ROOT_TOKEN), { status: 201, isReused: true, isLast: false });
});

test('row 11: on a connection over HTTP the first refusals are sent at once, others after a pause', async (t) => {
  const { app } = startApp();
  const server = await startServer({
    app,
    memory,
    host: '127.0.0.1',
    port: 0,
    refusalPauseMs: 2 ** 30,
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  let answered = 0;
  const ask = () =>
    new Promise<void>((resolve) => {
      const sent = request(`${server.url}/q/messages`, { method: 'POST', agent });
      sent.on('response', (response) => {
        answered++;
        response.resume().on('end', resolve);
      });
      sent.on('error', () => resolve()).end('x');
    });
  for (let i = 0; i < refusalsAtOnce; i++) await ask();
  const slow = ask();
  const other = await fetch(`${server.url}/q/messages`, { method: 'POST', body: 'x' });
  assert.equal(other.status, 401, 'another connection is answered');
  assert.equal(answered, refusalsAtOnce);
  agent.destroy();
  await slow;
  await server.close();
});

test('row 11: a connection over AMQP is closed after twenty refused tokens', async (t) => {
  const broker = await startBroker(t);
  const raw = RawAmqp.open(Number(new URL(broker.api.url).port));
  t.after(() => raw.destroy());
  raw.begin();
  const [source, target] = [sourceOf('$cbs'), targetOf('$cbs')];
  raw.say({
    kind: 'attach',
    name: 'ask',
    handle: 0,
    role: 'sender',
    source,
    target,
    initialDeliveryCount: 0,
  });
  raw.say({ kind: 'attach', name: 'hear', handle: 1, role: 'receiver', source, target });
  const windows = { incomingWindow: 99, nextOutgoingId: 0, outgoingWindow: 99 };
  raw.say({ kind: 'flow', ...windows, handle: 1, deliveryCount: 0, linkCredit: 99 });
  await raw.hear('flow');
  const claim = writeSections({
    properties: list([str('m')]),
    applicationProperties: mapOf({
      operation: str('put-token'),
      type: str('servicebus.windows.net:sastoken'),
      name: str('sb://localhost/q'),
    }),
    body: [described(SECTION.value, str(BAD_TOKEN))],
  });
  const bring = (deliveryId: number) => {
    const deliveryTag = Buffer.from([deliveryId]);
    raw.say({ kind: 'transfer', handle: 0, deliveryId, deliveryTag }, 0, claim);
  };
  for (let i = 0; i < refusalsAtOnce; i++) bring(i);
  for (let i = 0; i < refusalsAtOnce; i++) {
    const { payload = new Uint8Array() } = await raw.hear('transfer');
    const answer = fieldsOf(readSections(payload).applicationProperties);
    assert.equal(numberOf(answer.get('status-code')), 401);
  }
  const { requests } = await broker.units(async () => {
    for (let i = refusalsAtOnce; i < refusals; i++) bring(i);
    const { error } = await raw.hear('close');
    assert.equal(error?.condition, 'amqp:unauthorized-access');
  });
  assert.equal(requests, 0, 'the missing queue is cached');
});
