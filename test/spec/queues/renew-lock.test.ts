import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

async function startQueue(t: TestContext): Promise<TestBroker> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S' }), 201);
  return broker;
}

async function sendAndLock(broker: TestBroker): Promise<Received> {
  expectStatus(await broker.send('q', 'x'), 201);
  const message = await broker.peekLock('q');
  assert.ok(message);
  return message;
}

interface Renewal {
  readonly lockToken: string;
  readonly lockedUntilUtc?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly trackingId: string };
}

async function renewMany(
  broker: TestBroker,
  lockTokens: readonly string[],
): Promise<readonly Renewal[]> {
  const answer = await broker.request('POST', 'q/messages/$renew', {
    body: JSON.stringify({ lockTokens }),
  });
  expectStatus(answer, 200);
  return answer.json<{ renewals: Renewal[] }>().renewals;
}

const UNKNOWN = '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547';

test('#7 a renewed lock lasts its full duration from now, not from its old end', async (t) => {
  const broker = await startQueue(t);
  const message = await sendAndLock(broker);
  broker.clock.advance({ seconds: 10 });
  const answer = await broker.renew(message);
  assert.equal(answer.status, 200);
  assert.equal(answer.text, '');
  const renewed = JSON.parse(answer.headers.get('brokerproperties') ?? '');
  assert.deepEqual(renewed, { LockedUntilUtc: 'Thu, 01 Jan 2026 00:00:40 GMT' });

  broker.clock.advance({ seconds: 30, ms: -1 });
  assert.equal(await broker.peekLock('q'), undefined);
  broker.clock.advance({ ms: 1 });
  assert.equal((await broker.peekLock('q'))?.broker.DeliveryCount, 2);
});

test('#7 a lock can be renewed without limit, and the token stays the same', async (t) => {
  const broker = await startQueue(t);
  const message = await sendAndLock(broker);
  for (let round = 0; round < 20; round++) {
    broker.clock.advance({ ms: 29_999 });
    assert.equal((await broker.renew(message)).status, 200);
  }
  assert.equal(await broker.peekLock('q'), undefined);
  assert.equal(await broker.complete(message), 200);
  broker.clock.advance({ days: 1 });
  assert.equal(await broker.peekLock('q'), undefined);
});

test('a renewal does not count as a delivery', async (t) => {
  const broker = await startQueue(t);
  const message = await sendAndLock(broker);
  await broker.renew(message);
  await broker.renew(message);
  assert.equal(await broker.abandon(message), 200);
  assert.equal((await broker.peekLock('q'))?.broker.DeliveryCount, 2);
});

test('#8 an expired lock cannot be renewed, even if no receiver has taken the message', async (t) => {
  const broker = await startQueue(t);
  const message = await sendAndLock(broker);
  broker.clock.advance({ seconds: 30 });
  const answer = await broker.renew(message);
  assert.equal(answer.status, 404);
  assert.match(answer.text, /The lock supplied is invalid\. Either the lock expired/);
  assert.equal((await broker.peekLock('q'))?.broker.DeliveryCount, 2);
});

test('#8 the token of an earlier delivery does not renew the lock of a later one', async (t) => {
  const broker = await startQueue(t);
  const old = await sendAndLock(broker);
  broker.clock.advance({ seconds: 30 });
  assert.ok(await broker.peekLock('q'));
  broker.clock.advance({ seconds: 29 });
  assert.equal((await broker.renew(old)).status, 404);
  broker.clock.advance({ seconds: 1 });
  assert.equal((await broker.peekLock('q'))?.broker.DeliveryCount, 3);
});

test('the lock of a settled message cannot be renewed', async (t) => {
  const broker = await startQueue(t);
  const first = await sendAndLock(broker);
  assert.equal(await broker.abandon(first), 200);
  assert.equal((await broker.renew(first)).status, 404);
  const second = await broker.peekLock('q');
  assert.ok(second);
  assert.equal(await broker.complete(second), 200);
  assert.equal((await broker.renew(second)).status, 404);
});

test('one call renews many locks, each with its own outcome', async (t) => {
  const broker = await startQueue(t);
  const batch = Array.from({ length: 60 }, (_, i) => ({ Body: `${i}` }));
  expectStatus(await broker.sendBatch('q', batch), 201);
  const tokens = (await broker.peekLockMany('q', 60)).map(({ broker: { LockToken } }) => LockToken);
  const [lost = '', ...held] = tokens;
  await broker.settle('q', [{ lockToken: lost, outcome: 'complete' }]);
  broker.clock.advance({ seconds: 29 });

  const asked = [UNKNOWN, lost, ...held, 'no guid'];
  const renewals = await renewMany(broker, asked);
  assert.deepEqual(
    renewals.map(({ lockToken }) => lockToken),
    asked,
  );
  for (const { lockToken, lockedUntilUtc, error } of renewals) {
    if (held.includes(lockToken)) {
      assert.deepEqual([lockedUntilUtc, error], ['Thu, 01 Jan 2026 00:00:59 GMT', undefined]);
    } else {
      assert.deepEqual([lockedUntilUtc, error?.code], [undefined, 'MessageLockLost']);
      assert.match(error?.trackingId ?? '', /^[0-9a-f-]{36}$/);
    }
  }
  broker.clock.advance({ seconds: 29 });
  assert.deepEqual(await broker.peekLockMany('q', 60), []);
  broker.clock.advance({ seconds: 1 });
  assert.equal((await broker.peekLockMany('q', 100)).length, 59);
});

test('a lock token that is twice in one call is renewed, and not reported as lost', async (t) => {
  const broker = await startQueue(t);
  const { LockToken } = (await sendAndLock(broker)).broker;
  for (const { error } of await renewMany(broker, [LockToken, LockToken])) {
    assert.equal(error, undefined);
  }
});

test('an expired token of a message does not prevent the renewal of its valid token in the same call', async (t) => {
  const broker = await startQueue(t);
  const old = await sendAndLock(broker);
  assert.equal(await broker.abandon(old), 200);
  const live = await broker.peekLock('q');
  assert.ok(live);
  const renewals = await renewMany(broker, [old.broker.LockToken, live.broker.LockToken]);
  assert.deepEqual(
    renewals.map(({ error }) => error?.code),
    ['MessageLockLost', undefined],
  );
});
