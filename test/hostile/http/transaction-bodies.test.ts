import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transactionRoutes } from '../../../lambdas/http/routes/transactions.ts';
import { combineRoutes } from '../../../lambdas/http/routing/combine-routes.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { countedBody } from '../../support/counted-body.ts';
import { exactBody } from '../../support/exact-messages.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import {
  fakeEntity,
  findableEntities,
  httpDependencies,
  rule,
} from '../../support/http-fixture.ts';
import { startBroker } from '../../support/start-broker.ts';

/** Row 2: the cost of a body before the request is authorized. */

const KB = 1024;
const MB = 1024 * KB;
const UNAUTHORIZED_BYTES = BUDGETS.connection.unauthorized.requestBytes;

function startTransactions() {
  const dependencies = httpDependencies({
    entities: findableEntities({
      q: fakeEntity('q', {
        ...QUEUE_DEFAULTS,
        authorizationRules: [rule('sender', 'Send'), rule('manager', 'Manage')],
      }),
    }),
  });
  const app = combineRoutes(dependencies, transactionRoutes(dependencies));
  return { app, memory: dependencies.memory };
}

const token = (path: string, keyName: string, key = `${keyName}-primary`) =>
  createSasToken({
    audience: `http://localhost${path}`,
    keyName,
    key,
    expiresAt: FAKE_NOW + 60_000,
  });

/** Sends an endless body in pieces of 16 KB; returns how much of it was read. */
async function askEndlessly(authorization: string) {
  const { app, memory } = startTransactions();
  const body = countedBody({ piece: 16 * KB });
  const response = await app.request('http://localhost/$transactions', {
    method: 'POST',
    headers: { authorization },
    body: body.stream,
    duplex: 'half',
  } as RequestInit);
  assert.equal(memory.held, 0, 'no memory is held after the answer');
  return { status: response.status, text: await response.text(), read: body.read() };
}

for (const [who, authorization, status, sentence, readMax] of [
  [
    'a token for a queue that its key did not sign',
    token('/q', 'sender', 'guess'),
    401,
    /40103/,
    0,
  ],
  ['a token of an unknown rule for a queue', token('/q', 'nobody'), 401, /40103/, 0],
  ['a token without the right', token('/q', 'manager'), 401, /claim\(s\) are required/, 0],
  ['a made-up token', token('', 'nobody'), 401, /40103: .*at most 65536 bytes/, UNAUTHORIZED_BYTES],
  ['a token for a missing queue', token('/none', 'sender'), 401, /40103/, UNAUTHORIZED_BYTES],
] as const) {
  test(`row 2: with ${who}, at most ${readMax} bytes are read`, async () => {
    const asked = await askEndlessly(authorization);
    assert.equal(asked.status, status, asked.text);
    assert.match(asked.text, sentence);
    assert.ok(asked.read <= readMax + 32 * KB, `${asked.read} bytes were read`);
  });
}

for (const [who, authorization] of [
  ['the namespace', token('', 'root')],
  ['the queue', token('/q', 'sender')],
] as const) {
  test(`row 2: with a token of a rule of ${who}, a large body is read up to its limit`, async () => {
    const asked = await askEndlessly(authorization);
    assert.equal(asked.status, 400, asked.text);
    assert.match(asked.text, /the limit is 6291456\. Send it in several requests/);
    assert.ok(asked.read >= 6 * MB && asked.read <= 6 * MB + 32 * KB, `${asked.read} bytes`);
  });
}

test('row 2: a body with too large a Content-Length is not read at all', async () => {
  const { app } = startTransactions();
  const body = countedBody({ piece: 16 * KB });
  const response = await app.request('http://localhost/$transactions', {
    method: 'POST',
    headers: {
      authorization: token('', 'nobody'),
      'content-length': String(UNAUTHORIZED_BYTES + 1),
    },
    body: body.stream,
    duplex: 'half',
  } as RequestInit);
  assert.equal(response.status, 401);
  assert.ok(body.read() <= 16 * KB, `${body.read()} bytes were read`);
});

test('row 2: over HTTP a request of 8 MB with a made-up token gets 401, and is not parsed', async (t) => {
  const broker = await startBroker(t);
  const answer = await broker.request('POST', '$transactions', {
    body: `{"operations":[${'0,'.repeat(4 * MB - 50)}0]}`,
    authorization: createSasToken({
      audience: 'http://127.0.0.1',
      keyName: 'RootManageSharedAccessKey',
      key: 'guess',
      expiresAt: Date.UTC(9999, 0, 1),
    }),
  });
  assert.equal(answer.status, 401, answer.text);
  assert.match(answer.text, /40103: InvalidSignature/);
});

test('row 2: the body of a request that is not yet authorized counts as it arrives', async () => {
  const dependencies = httpDependencies();
  const app = combineRoutes(dependencies, transactionRoutes(dependencies));
  const PIECES = 1000;
  let read = 0;
  let heldMost = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        read++;
        heldMost = Math.max(heldMost, dependencies.memory.held);
        if (read === PIECES) controller.close();
        else controller.enqueue(new Uint8Array(1));
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { authorization: token('', 'nobody'), 'content-length': '60000' };
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
  const response = await app.request('http://localhost/$transactions', init);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /JSON/);
  assert.equal(read, PIECES);
  const most = read * BUDGETS.request.heldPerJsonByte;
  assert.ok(heldMost > 0 && heldMost <= most, `${heldMost} bytes were counted for ${read}`);
});

test('row 7: no messages are decoded beyond those that a transaction may send', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q');
  const send = (bytes: Uint8Array) => ({ send: 'q', amqp: Buffer.from(bytes).toString('base64') });
  const message = send(exactBody({ body: Buffer.from('a'), properties: {} }));
  const many = Array.from({ length: LIMITS.transactionMessages + 1 }, () => message);
  const answer = await bus.request('POST', '$transactions', {
    headers: { Accept: 'application/json' },
    body: JSON.stringify({ operations: [...many, send(Uint8Array.of(0xff))] }),
  });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /"InvalidOperation","message":"Can't send more than 100 messages/);
});
