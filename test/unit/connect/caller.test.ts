import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { HttpAnswer } from '../../../client/call.ts';
import { type Call, Caller } from '../../../connect/https/calls/caller.ts';
import { failureOf } from '../../../connect/https/calls/refusals.ts';
import { SUCCESS, type Success } from '../../../connect/https/calls/success.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';

/** What becomes of requests that fail. */

/** What a service does with a request: it answers with a code, or not at all. */
type Answer = 'done' | 'lost' | 'TransactionAborted' | 'QuotaExceeded' | 'too many requests';

const STATUS = { TransactionAborted: 409, QuotaExceeded: 403 } as const;

/** Sends a request to a server; returns the answer, or the error of it. */
async function call(
  t: TestContext,
  serve: RequestListener,
  how: Pick<Call, 'isRepeatable' | 'isTriedOnce'> & Partial<Pick<Call, 'path'>>,
  success: Success = SUCCESS.stored,
): Promise<HttpAnswer | BrokerError> {
  const server = createServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const caller = new Caller({
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sign: async ({ headers }) => headers,
    scheduler: { ...realScheduler, after: (_, work) => realScheduler.after(0, work) },
    lowersPaths: false,
  });
  return await caller
    .call({ method: 'POST', path: 'q/messages', success, ...how })
    .catch((error: BrokerError) => error);
}

/** Calls a service that answers so, in turn; returns what comes of it and how many requests came. */
async function outcomeOf(t: TestContext, answers: readonly Answer[], isRepeatable: boolean) {
  let requests = 0;
  const serve: RequestListener = (incoming, response) => {
    const answer = answers[Math.min(requests++, answers.length - 1)];
    if (answer === 'lost') incoming.socket.destroy();
    else if (answer === 'done') response.writeHead(201).end();
    else if (answer === 'too many requests') response.writeHead(429).end('{"message":"Slow"}');
    else if (answer !== undefined) {
      response.writeHead(STATUS[answer], { 'X-Dynabus-Error': answer });
      response.end(JSON.stringify({ error: { code: answer, message: 'So it is.' } }));
    }
  };
  const outcome = await call(t, serve, { isRepeatable });
  return ['code' in outcome ? outcome.code : outcome.status, requests];
}

const CASES: readonly [string, readonly Answer[], boolean, readonly unknown[]][] = [
  ['is sent again while requests are limited', ['too many requests', 'done'], false, [201, 2]],
  ['is not sent again where an answer got lost', ['lost'], false, ['ServiceTimeout', 1]],
  ['that is repeatable is sent again where an answer got lost', ['lost', 'done'], true, [201, 2]],
  [
    'that is repeatable is sent again after a conflict',
    ['TransactionAborted', 'done'],
    true,
    [201, 2],
  ],
  ['is not sent again after a conflict', ['TransactionAborted'], false, ['TransactionAborted', 1]],
  ['is not sent again after a refusal', ['QuotaExceeded'], true, ['QuotaExceeded', 1]],
  ['that never succeeds ends', ['too many requests'], true, ['ServiceBusy', 5]],
  [
    'is not called undone where the answer of an earlier try got lost',
    ['lost', 'too many requests'],
    true,
    ['ServiceTimeout', 5],
  ],
];

for (const [name, answers, isRepeatable, expected] of CASES) {
  test(`a request ${name}`, async (t) => {
    assert.deepEqual(await outcomeOf(t, answers, isRepeatable), expected);
  });
}

/** Answers that the service has not written. */
const IN_FRONT: readonly [number, string, string, string, RegExp][] = [
  [
    429,
    'application/json',
    '{"message":"Slow"}',
    'ServiceBusy',
    /limits requests: {"message":"Slow"}/,
  ],
  [
    502,
    'application/json',
    '{"message":"Bad"}',
    'ServiceTimeout',
    /status 502: .*Bad.* is not known/,
  ],
  [408, 'text/plain', 'Late', 'ServiceTimeout', /status 408: Late Whether .* is not known/],
  [403, 'application/json', '{"message":"Forbidden"}', 'Unauthenticated', /403.*Forbidden.*Check/],
  [404, 'application/json', '{"message":"Not Found"}', 'NotSupported', /404.*Check the address/],
  [400, 'application/json', '{"message":"Bad Request"}', 'InvalidOperation', /400.*Bad Request/],
  [301, 'text/html', '<p>Moved', 'InvalidOperation', /301.*Moved Check/],
  [413, 'text/html', '<p>Large', 'MessageSizeExceeded', /so large: <p>Large/],
  [200, 'text/html; charset=utf-8', '<p>Login', 'ServiceTimeout', /status 200: <p>Login/],
];

for (const [status, type, body, code, sentence] of IN_FRONT) {
  test(`an answer in front of the service with the status ${status} is told as ${code}`, async (t) => {
    const error = await call(
      t,
      (_, response) => response.writeHead(status, { 'Content-Type': type }).end(body),
      { isRepeatable: false },
    );
    assert.ok(error instanceof BrokerError);
    assert.equal(error.code, code);
    assert.match(error.message, sentence);
  });
}

/** What others than the service answer with 200, and a request whose success it is not. */
const NO_SUCCESS: readonly [keyof typeof SUCCESS, string, string][] = [
  ['stored', 'text/plain', ''],
  ['stored', 'application/json', '{}'],
  ['done', 'text/plain', 'OK'],
  ['json', 'text/plain', 'OK'],
  ['session', 'text/plain', ''],
  ['exact', 'application/json', '{}'],
  ['exact', 'text/plain', ''],
  ['bytes', 'text/plain', 'OK'],
];

for (const [name, type, body] of NO_SUCCESS) {
  test(`an answer '${body}' of the type ${type} that is not of the service is no success of the kind '${name}'`, async (t) => {
    const serve: RequestListener = (_, response) =>
      response.writeHead(200, { 'Content-Type': type }).end(body);
    const error = await call(t, serve, { isRepeatable: false }, SUCCESS[name]);
    assert.ok(error instanceof BrokerError);
    assert.equal(error.code, 'ServiceTimeout');
    assert.match(error.message, /status 200/);
  });
}

test('a fault of the service is told with its tracking id', async (t) => {
  const fault = { code: 'InternalError', message: 'Oh.', trackingId: 'track' };
  const error = await call(
    t,
    (_, response) =>
      response
        .writeHead(500, { 'X-Dynabus-Error': fault.code })
        .end(JSON.stringify({ error: fault })),
    { isRepeatable: false },
  );
  assert.ok(error instanceof BrokerError);
  assert.deepEqual([error.code, error.trackingId], ['ServiceTimeout', 'track']);
});

test('a request whose caller asks again later is sent once', async (t) => {
  let requests = 0;
  const serve: RequestListener = (_, response) => {
    requests++;
    response.writeHead(429).end();
  };
  const outcome = await call(t, serve, { isRepeatable: false, isTriedOnce: true });
  assert.ok(outcome instanceof BrokerError && outcome.code === 'ServiceBusy');
  assert.equal(requests, 1);
});

for (const path of ['own/../orders/messages', 'own/./orders/messages', '../messages']) {
  test(`the path ${path}, which a URL would turn into another one, is not sent`, async (t) => {
    let requests = 0;
    const serve: RequestListener = (_, response) => {
      requests++;
      response.writeHead(200).end('{}');
    };
    const outcome = await call(t, serve, { isRepeatable: true, path });
    assert.ok(outcome instanceof BrokerError && outcome.code === 'MessagingEntityNotFound');
    assert.equal(requests, 0);
  });
}

test('a host of several addresses was sent nothing only if no connection was made', () => {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' });
  const codeOf = (...errors: readonly Error[]) =>
    failureOf('http://localhost:9', new AggregateError(errors)).code;
  assert.equal(codeOf(refused, refused), 'ServiceBusy');
  assert.equal(codeOf(refused, reset), 'ServiceTimeout');
});
