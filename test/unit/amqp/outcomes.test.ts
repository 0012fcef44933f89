import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Outbox } from '../../../amqp/endpoint/outbox.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { FakePeer, fakeGateway, lockedMessage } from '../../support/fake-peer.ts';
import { dataMessage } from '../../support/raw-session.ts';

/** More microtasks than work without I/O needs; the event loop gets no turn meanwhile. */
const MICROTASKS = 200;

/** A broker call that the test answers. `writesOf` answers it and counts the writes in the same turn. */
function heldAnswers<Answer>() {
  const asked: ((answer: Answer) => void)[] = [];
  const call = () => new Promise<Answer>((resolve) => asked.push(resolve));
  const writesOf = async (peer: FakePeer, answer: Answer) => {
    await peer.settled();
    assert.equal(asked.length, 1);
    const before = peer.writes.length;
    asked.shift()?.(answer);
    for (let i = 0; i < MICROTASKS; i++) await Promise.resolve();
    return peer.writes.length - before;
  };
  return { call, writesOf };
}

async function peerOf(t: TestContext, gateway: ReturnType<typeof fakeGateway>['gateway']) {
  const peer = await FakePeer.root(gateway);
  t.after(() => peer.lost());
  return peer;
}

test('received messages, and the outcomes of their settlement, are sent in the turn in which they are known', async (t) => {
  const receives = heldAnswers<unknown[]>();
  const settles = heldAnswers<unknown[]>();
  const { gateway, broker } = fakeGateway();
  Object.assign(broker, { receive: receives.call, settle: settles.call });
  const peer = await peerOf(t, gateway);
  await peer.receive('q', 1, 3);
  const messages = [1, 2, 3].map((number) => lockedMessage(number, 100));
  assert.equal(await receives.writesOf(peer, messages), 1);
  peer.say({ kind: 'disposition', role: 'receiver', first: 0, state: { kind: 'accepted' } });
  assert.equal(await settles.writesOf(peer, [{}]), 1);
});

test('the outcome of a send is sent in the turn in which it is known', async (t) => {
  const sends = heldAnswers<unknown[]>();
  const { gateway, broker } = fakeGateway();
  Object.assign(broker, { send: sends.call });
  const peer = await peerOf(t, gateway);
  peer.attach('sender', 'q', 0);
  await peer.settled();
  const first = { deliveryId: 0, deliveryTag: Buffer.of(1), messageFormat: 0 };
  peer.say({ kind: 'transfer', handle: 0, more: false, ...first }, dataMessage('one'));
  assert.equal(await sends.writesOf(peer, [{}]), 1);
});

test('outcomes do not wait for those of other sends; those that are known together share a frame', async (t) => {
  const asked: ((answer: unknown[]) => void)[] = [];
  const { gateway, broker } = fakeGateway();
  broker.send = () => new Promise((resolve) => asked.push(resolve as (answer: unknown[]) => void));
  const peer = await peerOf(t, gateway);
  peer.attach('sender', 'q', 0);
  await peer.settled();
  for (let deliveryId = 0; deliveryId < 4; deliveryId++) {
    const delivery = { deliveryId, deliveryTag: Buffer.of(1), messageFormat: 0 };
    peer.say({ kind: 'transfer', handle: 0, more: false, ...delivery }, dataMessage('one'));
  }
  await peer.settled();
  assert.equal(asked.length, 4);
  const sizes: number[] = [];
  for (const some of [asked.slice(0, 1), asked.slice(1)]) {
    const before = peer.writes.length;
    for (const resolve of some) resolve([{}]);
    await peer.settled();
    sizes.push(...peer.writes.slice(before));
  }
  assert.equal(sizes.length, 2);
  assert.ok(Math.abs((sizes[0] ?? 0) - (sizes[1] ?? 0)) < 10, `one frame each: ${sizes} bytes`);
});

test('output that is sent at once counts for its turn: senders with more parts wait for the end of the turn', () => {
  const soon: (() => void)[] = [];
  const takes = (_bytes: Uint8Array, written: () => void) => written();
  const outbox = new Outbox(
    { backlog: 0, write: takes, pause() {}, resume() {}, end() {}, destroy() {} },
    {
      scheduler: { soon: (work: () => void) => void soon.push(work), now: () => 0 } as never,
      intake: { pause() {}, resume() {} },
      limits: { tryHold: () => true, release() {} },
      onFull: () => assert.fail('There is room.'),
    },
  );
  let wentOn = 0;
  for (let i = 0; i < BUDGETS.connection.turnParts; i++) {
    outbox.write(Buffer.of(0));
    outbox.sendNow();
  }
  assert.equal(
    outbox.mayWrite(() => wentOn++),
    false,
  );
  outbox.sendNow();
  assert.equal(wentOn, 0);
  assert.equal(soon.length, 1);
  soon[0]?.();
  assert.equal(wentOn, 1);
});
