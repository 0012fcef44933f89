import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { hookedClient, throttled } from '../../support/hooked-client.ts';
import type { Outgoing } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { acceptSession } from '../../support/test-session.ts';
import { startTries, type Try } from '../../support/tries-client.ts';

/** Claims that arrive late, conflict with other claims, or fail while others of the process succeed. */

const isClaim = ({ command, collection }: Outgoing) =>
  command === 'UpdateItemCommand' && /\.\dm\d$/.test(collection);

const late = (count: number) => Array<Try>(count).fill('late');

const bodiesOf = (answer: Answer): readonly string[] =>
  answer.status !== 201 ? [] : answer.json<{ Body: string }[]>().map(({ Body }) => Body);

async function fillSession(broker: TestBroker, count: number): Promise<void> {
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  for (let i = 1; i <= count; i++) {
    expectStatus(await broker.send('s', `${i}`, { SessionId: 'a' }), 201);
  }
}

async function fillBatch(broker: TestBroker, count: number): Promise<void> {
  expectStatus(await broker.createQueue('q'), 201);
  const batch = Array.from({ length: count }, (_, i) => ({ Body: `${i}` }));
  expectStatus(await broker.sendBatch('q', batch), 201);
}

/** A promise that a call of `open` resolves. */
function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const isRead = ({ command, collection }: Outgoing) =>
  command === 'QueryCommand' && /\.\dm\d$/.test(collection);

async function startLate(t: TestContext) {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  return { tries, broker: await startBroker(t, { client: tries.client }) };
}

test('a receive-and-delete whose write arrives late removes only the message that it returned', async (t) => {
  const { tries, broker } = await startLate(t);
  await fillBatch(broker, 30);
  // All attempts of one command arrive late; the next command succeeds.
  tries.next('UpdateItemCommand', late(4));
  const first = await broker.receiveAndDelete('q');
  await tries.arrive();
  const rest = await broker.receiveAndDeleteMany('q', 100);
  const all = [first?.body, ...rest.map(({ body }) => body)];
  assert.equal(new Set(all).size, 30);
});

for (const [method, command] of [
  ['POST', 'UpdateItemCommand'],
  ['DELETE', 'DeleteItemCommand'],
] as const) {
  test(`a session delivers no later message if the outcome of the claim of its first is unknown (${method})`, async (t) => {
    const { tries, broker } = await startLate(t);
    await fillSession(broker, 3);
    const session = await acceptSession(broker, 's', 'a');
    tries.next(command, late(12));
    expectStatus(await session.request(method, 'messages/head?timeout=0&maxMessages=1'), 504);
    await tries.arrive();
    const next = await session.request(method, 'messages/head?timeout=0&maxMessages=1');
    assert.equal(next.headers.get('x-dynabus-error'), 'SessionLockLost');
  });
}

test('a receive does not answer 204 while another receive of its process loses all its races', async (t) => {
  let others: TestBroker | undefined;
  let claims = 0;
  let reads = 0;
  const [claiming, reading] = [gate(), gate()];
  const client = hookedClient(async (request) => {
    if (others === undefined) return;
    if (isRead(request) && ++reads === 2) reading.open();
    if (!isClaim(request)) return;
    claims++;
    claiming.open();
    if (claims === 1) await reading.opened;
    if (claims > 3) throw throttled();
    assert.ok(await others.peekLock('q'));
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  const there = await startBroker(t, { beside: broker });
  await fillBatch(broker, 30);
  others = there;
  const many = broker.request('POST', 'q/messages/head?timeout=0&maxMessages=30');
  await claiming.opened;
  const one = await broker.request('POST', 'q/messages/head?timeout=0&maxMessages=1');
  await many;
  assert.notEqual(one.status, 204);
});

test('simultaneous receives of one session keep its order even if a claim fails', async (t) => {
  let claims = 0;
  let reads = 0;
  let isOn = false;
  const [claiming, reading] = [gate(), gate()];
  const client = hookedClient(async (request) => {
    if (!isOn) return;
    if (isRead(request) && ++reads === 2) reading.open();
    if (!isClaim(request)) return;
    claims++;
    claiming.open();
    if (claims === 1) await reading.opened;
    if (claims === 4) throw throttled();
  });
  t.after(() => client.destroy());
  const broker = await startBroker(t, { client });
  await fillSession(broker, 6);
  const session = await acceptSession(broker, 's', 'a');
  isOn = true;
  const receive = () => session.request('POST', 'messages/head?timeout=0&maxMessages=2');
  const first = receive();
  await claiming.opened;
  const second = receive();
  const answers = [await first, await second];
  isOn = false;
  answers.push(await session.request('POST', 'messages/head?timeout=0&maxMessages=6'));
  const segments = answers.map(bodiesOf).filter((segment) => segment.length > 0);
  // Each answer has consecutive messages, and together they have all.
  const inOrder = segments.sort(([a = ''], [b = '']) => a.localeCompare(b)).flat();
  assert.deepEqual(inOrder, ['1', '2', '3', '4', '5', '6']);
});

test('a receive whose session lock expires meanwhile answers SessionLockLost', async (t) => {
  let broker: TestBroker | undefined;
  const client = hookedClient((request) => {
    if (isRead(request)) broker?.clock.advance({ seconds: 61 });
  });
  t.after(() => client.destroy());
  const started = await startBroker(t, { client });
  await fillSession(started, 2);
  const session = await acceptSession(started, 's', 'a');
  broker = started;
  const answer = await session.request('POST', 'messages/head?timeout=0&maxMessages=1');
  assert.equal(answer.headers.get('x-dynabus-error'), 'SessionLockLost');
});
