import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { lambdaTargetClient, lambdaTargets } from '../../../lambdas/push/targets/lambda-target.ts';
import { CONSUMER_LIMITS } from '../../../shared/domain/consumers/consumer.ts';
import type { Batch, Reply } from '../../../shared/push/ports.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';
import { batch, consumer, FACTS, locked, NOW, numbered } from './batches.ts';
import { type Answering, closedAddress, listen, ran, refused } from './http-server.ts';

const BATCH = numbered(7, 8);

/** Lambda targets that call this address in the place of Lambda. */
function targetsAt(t: TestContext, endpoint: string, scheduler = new ManualScheduler()) {
  const client = lambdaTargetClient({
    region: 'eu-central-1',
    endpoint,
    credentials: { accessKeyId: 'a', secretAccessKey: 's' },
  });
  t.after(() => client.destroy());
  return lambdaTargets({ client, scheduler, clock: { now: () => NOW }, origin: FACTS });
}

async function call(t: TestContext, answer: Answering, pushed: Batch = BATCH) {
  const server = await listen(t, answer);
  const reply = await targetsAt(t, server.url).call(pushed);
  return { reply, received: server.received };
}

const errorOf = (reply: Reply): string => ('error' in reply ? reply.error : '');

test('a function is invoked once, with the event, and waits for its result', async (t) => {
  const { reply, received } = await call(t, ran('null'));
  assert.deepEqual(reply, { kind: 'answered', failures: [] });
  assert.equal(received.length, 1);
  const [request] = received;
  assert.equal(request?.method, 'POST');
  assert.equal(
    decodeURIComponent(request?.url ?? ''),
    `/2015-03-31/functions/${BATCH.consumer.target}/invocations`,
  );
  assert.equal(request?.headers['x-amz-invocation-type'], 'RequestResponse');
  const { Records } = JSON.parse(request?.body ?? '{}');
  assert.deepEqual(
    Records.map(({ messageId }: { messageId: string }) => messageId),
    ['7', '8'],
  );
});

test('an alias is part of the name that is invoked', async (t) => {
  const target = 'arn:aws:lambda:eu-central-1:123456789012:function:mail:live';
  const { received } = await call(t, ran(''), { ...BATCH, consumer: consumer({ target }) });
  assert.equal(
    decodeURIComponent(received[0]?.url ?? ''),
    `/2015-03-31/functions/${target}/invocations`,
  );
});

test('the failures that a function names fail', async (t) => {
  const { reply } = await call(t, ran('{"batchItemFailures":[{"itemIdentifier":"8"}]}'));
  assert.deepEqual(reply, {
    kind: 'answered',
    failures: [{ sequenceNumber: 8n, action: { kind: 'abandon' } }],
  });
});

test('an empty answer of a function completes all', async (t) => {
  const { reply } = await call(t, ran(''));
  assert.deepEqual(reply, { kind: 'answered', failures: [] });
});

test('a senseless answer of a function fails all', async (t) => {
  const { reply } = await call(t, ran('{"batchItemFailures":true}'));
  assert.equal(reply.kind, 'failed');
});

const FUNCTION_ERRORS: readonly [string, string][] = [
  [
    '{"errorType":"TypeError","errorMessage":"x is not a function","trace":[]}',
    'TypeError: x is not a function',
  ],
  [
    '{"errorMessage":"2030-01-02 Task timed out after 3.00 seconds"}',
    '2030-01-02 Task timed out after 3.00 seconds',
  ],
  ['{"errorType":7}', '{"errorType":7}'],
  ['null', 'null'],
  ['out of memory', 'out of memory'],
];

for (const [payload, error] of FUNCTION_ERRORS) {
  test(`a function that ends with ${payload} fails all`, async (t) => {
    const { reply } = await call(t, ran(payload, { 'x-amz-function-error': 'Unhandled' }));
    assert.deepEqual(reply, { kind: 'failed', error: `The function failed: ${error}` });
  });
}

test('a long error of a function is cut', async (t) => {
  const payload = JSON.stringify({ errorType: 'Error', errorMessage: 'x'.repeat(100_000) });
  const { reply } = await call(t, ran(payload, { 'x-amz-function-error': 'Unhandled' }));
  assert.equal(reply.kind, 'failed');
  assert.ok(errorOf(reply).length < 17_000);
});

const unavailable = (why: 'throttled' | 'missing' | 'forbidden') => ({ kind: 'unavailable', why });

/** What Lambda answers without having run the function. */
const REFUSALS: readonly [number, string, object][] = [
  [429, 'TooManyRequestsException', unavailable('throttled')],
  [429, 'Unheard', unavailable('throttled')],
  [502, 'EC2ThrottledException', unavailable('throttled')],
  [502, 'ENILimitReachedException', unavailable('throttled')],
  [502, 'ENINotReadyException', unavailable('throttled')],
  [502, 'SubnetIPAddressLimitReachedException', unavailable('throttled')],
  [409, 'ResourceConflictException', unavailable('throttled')],
  [502, 'ResourceNotReadyException', unavailable('throttled')],
  [409, 'SnapStartNotReadyException', unavailable('throttled')],
  [408, 'EFSMountTimeoutException', unavailable('throttled')],
  [500, 'ServiceException', unavailable('throttled')],
  [500, 'Unheard', unavailable('throttled')],
  [503, 'ServiceUnavailableException', unavailable('throttled')],
  [404, 'ResourceNotFoundException', unavailable('missing')],
  [404, 'Unheard', unavailable('missing')],
  [403, 'AccessDeniedException', unavailable('forbidden')],
  [403, 'Unheard', unavailable('forbidden')],
  [403, 'ExpiredTokenException', unavailable('forbidden')],
  [502, 'KMSAccessDeniedException', unavailable('forbidden')],
  [502, 'KMSDisabledException', unavailable('forbidden')],
  [400, 'InvalidParameterValueException', unavailable('forbidden')],
  [502, 'InvalidRuntimeException', unavailable('forbidden')],
  [413, 'RequestTooLargeException', { kind: 'tooLarge' }],
  [413, 'RequestEntityTooLargeException', { kind: 'tooLarge' }],
  [400, 'InvalidRequestContentException', { kind: 'failed' }],
  [400, 'RecursiveInvocationException', { kind: 'failed' }],
  [504, 'Unheard', { kind: 'failed' }],
  [502, 'Unheard', { kind: 'failed' }],
];

for (const [status, type, expected] of REFUSALS) {
  test(`${status} ${type} is ${JSON.stringify(expected)}, and is not tried again`, async (t) => {
    const { reply, received } = await call(t, refused(status, type));
    assert.deepEqual(reply, { ...expected, error: errorOf(reply) });
    assert.match(errorOf(reply), new RegExp(`${type}: .*because`));
    assert.equal(received.length, 1);
  });
}

test('a function that does not answer within the timeout fails all', async (t) => {
  const server = await listen(t, () => undefined);
  const scheduler = new ManualScheduler();
  const targets = targetsAt(t, server.url, scheduler);
  const arrived = server.arrival();
  const reply = targets.call({ ...BATCH, consumer: consumer({ timeoutMs: 1500 }) });
  await arrived;
  await scheduler.pass(1500);
  assert.deepEqual(await reply, {
    kind: 'failed',
    error: 'The function did not answer within 1.5 seconds.',
  });
});

test('an answer that never ends fails all at the timeout', async (t) => {
  const server = await listen(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"batchItem');
  });
  const scheduler = new ManualScheduler();
  const arrived = server.arrival();
  const reply = targetsAt(t, server.url, scheduler).call(BATCH);
  await arrived;
  // The headers are on their way, and arrive.
  for (let i = 0; i < 20; i++) await scheduler.settled();
  await scheduler.pass(CONSUMER_LIMITS.timeoutMsDefault);
  assert.equal((await reply).kind, 'failed');
});

test('a timeout is over with its call', async (t) => {
  const server = await listen(t, ran('null'));
  const scheduler = new ManualScheduler();
  const reply = await targetsAt(t, server.url, scheduler).call(BATCH);
  await scheduler.pass(CONSUMER_LIMITS.timeoutMsMax);
  assert.deepEqual(reply, { kind: 'answered', failures: [] });
});

test('a connection that breaks after the request fails all, and is not tried again', async (t) => {
  const { reply, received } = await call(t, (response) => response.socket?.resetAndDestroy());
  assert.equal(reply.kind, 'failed');
  assert.match(errorOf(reply), /^The connection to Lambda broke: ECONNRESET/);
  assert.equal(received.length, 1);
});

test('a connection that breaks in the middle of the answer fails all', async (t) => {
  const { reply } = await call(t, (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{', () => response.socket?.resetAndDestroy());
  });
  assert.equal(reply.kind, 'failed');
});

test('an answer that is not HTTP fails all', async (t) => {
  const server = createServer((socket) => {
    socket.on('data', () => socket.end('220 ready\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const reply = await targetsAt(t, `http://127.0.0.1:${address.port}`).call(BATCH);
  assert.equal(reply.kind, 'failed');
});

const UNREACHABLE: readonly [string, () => Promise<string>][] = [
  ['refuses connections', closedAddress],
  ['has no address', () => Promise.resolve('http://lambda.invalid')],
];

for (const [how, address] of UNREACHABLE) {
  test(`no delivery counts if Lambda ${how}`, async (t) => {
    const reply = await targetsAt(t, await address()).call(BATCH);
    assert.deepEqual(reply, { ...unavailable('throttled'), error: errorOf(reply) });
    assert.match(errorOf(reply), /^Lambda cannot be reached: /);
  });
}

test('no delivery counts without credentials', async (t) => {
  const client = lambdaTargetClient({
    region: 'eu-central-1',
    endpoint: await closedAddress(),
    credentials: () =>
      Promise.reject(Object.assign(new Error('none'), { name: 'CredentialsProviderError' })),
  });
  t.after(() => client.destroy());
  const options = { client, scheduler: new ManualScheduler(), clock: { now: () => NOW } };
  const reply = await lambdaTargets({ ...options, origin: FACTS }).call(BATCH);
  assert.deepEqual(reply, { ...unavailable('forbidden'), error: errorOf(reply) });
});

test('an event that is too long is not sent', async (t) => {
  const large = batch([locked({ body: Buffer.alloc(7 * 1024 * 1024, 'a') })]);
  const { reply, received } = await call(t, ran('null'), large);
  assert.deepEqual(reply, {
    kind: 'tooLarge',
    error: 'The message takes more bytes than the event of one call may have.',
  });
  assert.equal(received.length, 0);
});

test('a consumer has as many calls under way as it may have, each over a connection of its own', async (t) => {
  const calls = 200;
  const held: (() => void)[] = [];
  const server = await listen(t, (response, received) => {
    held.push(() => ran('null')(response, received));
    if (held.length === calls) for (const answer of held) answer();
  });
  const targets = targetsAt(t, server.url);
  const answered = async () => assert.equal((await targets.call(BATCH)).kind, 'answered');
  await Promise.all(Array.from({ length: calls }, answered));
});
