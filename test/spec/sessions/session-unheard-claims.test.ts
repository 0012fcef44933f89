import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { type Outgoing, type PauseClient, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';
import { acceptNext, acceptSession, type TestSession } from '../../support/test-session.ts';
import { startTries, type Try } from '../../support/tries-client.ts';

/**
 * Claims in a session whose answers from DynamoDB are lost. The order of a session is strict: no message is
 * delivered before an earlier one, and none that was claimed for a holder is skipped.
 */

const BODIES = ['1', '2', '3', '4', '5', '6'];

/** Creates a queue with six messages of one session, in three blocks. */
async function fill(broker: TestBroker): Promise<void> {
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  for (let i = 0; i < BODIES.length; i += 2) {
    const batch = BODIES.slice(i, i + 2).map((Body) => ({
      Body,
      BrokerProperties: { SessionId: 'a' },
    }));
    expectStatus(await broker.sendBatch('s', batch), 201);
  }
}

async function start(t: TestContext): Promise<{
  readonly broker: TestBroker;
  readonly pauses: PauseClient;
  readonly session: TestSession;
}> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await fill(broker);
  return { broker, pauses, session: await acceptSession(broker, 's', 'a') };
}

const inBlocks = ({ collection }: Outgoing) => /\.\dm\d$/.test(collection);
const isLookup = (request: Outgoing) => request.command === 'GetItemCommand' && inBlocks(request);

/** Matches the n-th claim from now on. */
function nthClaim(n: number): (request: Outgoing) => boolean {
  let claims = 0;
  return (request) =>
    request.command === 'UpdateItemCommand' && inBlocks(request) && ++claims === n;
}

const bodies = (messages: readonly Received[]) => messages.map(({ body }) => body);

for (const n of [1, 2, 3]) {
  test(`claim ${n} whose answer was lost is looked up, and all messages of the session are delivered in order`, async (t) => {
    const { pauses, session } = await start(t);
    pauses.loseNextAnswer(nthClaim(n));
    assert.deepEqual(bodies(await session.peekLockMany(6)), BODIES);
  });

  test(`if claim ${n} whose answer was lost cannot be looked up, the session is released`, async (t) => {
    const { broker, pauses, session } = await start(t);
    pauses.loseNextAnswer(nthClaim(n));
    pauses.loseNextAnswer(isLookup);
    const answer = await session.request('POST', 'messages/head?timeout=0&maxMessages=6');
    expectStatus(answer, 504);

    const later = await session.request('POST', 'messages/head?timeout=0&maxMessages=6');
    assert.equal(later.headers.get('x-dynabus-error'), 'SessionLockLost');
    const next = await acceptNext(broker, 's');
    assert.ok(next);
    const messages = await next.peekLockMany(6);
    assert.deepEqual(bodies(messages), BODIES);
    // A message that no client received does not count as delivered.
    assert.ok(messages.every((message) => message.broker.DeliveryCount === 1));
  });
}

test('if the bodies of claimed messages cannot be read, the session is released', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  const texts = Array.from({ length: 2 }, () => randomBytes(5000).toString('base64'));
  for (const text of texts) expectStatus(await broker.send('s', text, { SessionId: 'a' }), 201);
  const session = await acceptSession(broker, 's', 'a');
  pauses.loseNextAnswer(({ command }) => command === 'BatchGetItemCommand');
  expectStatus(await session.request('POST', 'messages/head?timeout=0'), 504);
  const next = await acceptNext(broker, 's');
  assert.deepEqual(bodies((await next?.peekLockMany(2)) ?? []), texts);
});

test('a claim that reaches DynamoDB late takes none of the messages delivered since', async (t) => {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const here = await startBroker(t, { client: tries.client });
  await fill(here);
  const session = await acceptSession(here, 's', 'a');
  tries.next('UpdateItemCommand', ['late', 'late', 'late', 'late']);
  const messages = await session.peekLockMany(6);
  assert.deepEqual(bodies(messages), BODIES);
  await tries.arrive();
  const outcomes = await session.settle(
    messages.map(({ broker: { LockToken: lockToken } }) => ({ lockToken, outcome: 'complete' })),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  assert.deepEqual(await session.peek(), []);
});

test('a session that one call fails to accept is accepted by a concurrent call that had skipped it', async (t) => {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const broker = await startBroker(t, { client: tries.client });
  expectStatus(await broker.createQueue('s', { RequiresSession: 'true' }), 201);
  expectStatus(await broker.send('s', 'm', { SessionId: 'a' }), 201);
  const accept = () => broker.request('POST', 's/sessions/$accept?timeout=0');
  let other: ReturnType<typeof accept> | undefined;
  tries.next('UpdateItemCommand', [
    'conflict',
    async () => {
      other = accept();
    },
    ...Array<Try>(7).fill('conflict'),
  ]);
  expectStatus(await accept(), 503);
  assert.ok(other);
  expectStatus(await other, 201);
});
