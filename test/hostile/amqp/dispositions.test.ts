import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { OutgoingLink } from '../../../amqp/endpoint/outgoing-link.ts';
import { Settler } from '../../../amqp/receiving/settler.ts';
import type { ClientContext } from '../../../amqp/service/context.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { FakePeer, fakeGateway, lockedMessage, turn, turnsUntil } from '../../support/fake-peer.ts';

/** Row 8: one disposition may cover all deliveries that a connection holds. */

const { deliveryBytes } = BUDGETS.weights;
const { authorized, deliveriesPerFrame, settlementsAtOnce } = BUDGETS.connection;
const PER_CALL = LIMITS.receiveMessages;
const TURNS_MAX = 100_000;

/** A peer that received small messages on its links and has settled none. */
async function peerWith(t: TestContext, links: number, perLink: number) {
  const made = fakeGateway();
  const { gateway, broker, memory } = made;
  const count = links * perLink;
  let given = 0;
  broker.receive = async (_path, { maxMessages, beforeAttempt }) => {
    await beforeAttempt?.();
    const first = given;
    given += maxMessages;
    return Array.from({ length: maxMessages }, (_, i) => lockedMessage(first + i, 1));
  };
  const peer = await FakePeer.root(gateway);
  t.after(() => peer.lost());
  await peer.receive('q', links, perLink);
  const isHeld = () => memory.held >= count * deliveryBytes && given === count;
  await turnsUntil(() => isHeld() && peer.hasTakenAll, TURNS_MAX);
  // The last messages may still wait for a turn to be written.
  for (let writes = -1; writes !== peer.writes.length; await peer.settled()) {
    writes = peer.writes.length;
  }
  return { ...made, peer, count };
}

test('row 8: a disposition of very many deliveries takes several turns, and later frames wait', async (t) => {
  const { peer, memory, count, faults } = await peerWith(t, 1, 45_000);
  const before = memory.held;
  peer.atOnce(() => {
    peer.say({ kind: 'disposition', role: 'receiver', first: 0, last: count - 1, settled: true });
    peer.say({ kind: 'detach', handle: 0, closed: true });
  });
  const perTurn: number[] = [];
  for (let { held } = memory; held > before - count * deliveryBytes; held = memory.held) {
    await turn();
    assert.ok(perTurn.length < 100, 'it has an end');
    perTurn.push((held - memory.held) / deliveryBytes);
  }
  const most = Math.max(...perTurn);
  assert.ok(most <= 1.25 * authorized.turnFrames * deliveriesPerFrame, `${most} in one turn`);
  assert.ok(perTurn.length > 1, `${perTurn.length} turns`);
  assert.deepEqual(faults, []);
});

test('row 8: few deliveries are settled at a time, and all in the end', async (t) => {
  const { peer, broker, count, faults } = await peerWith(t, 20, 500);
  let underWay = 0;
  let most = 0;
  let settled = 0;
  broker.settle = async (_path, settlements) => {
    underWay += settlements.length;
    most = Math.max(most, underWay);
    for (let i = 0; i < 3; i++) await turn();
    underWay -= settlements.length;
    settled += settlements.length;
    return settlements.map(({ lockToken }) => ({ lockToken }));
  };
  const state = { kind: 'accepted' } as const;
  const range = { first: 0, last: count - 1, settled: false };
  peer.say({ kind: 'disposition', role: 'receiver', ...range, state });
  await turnsUntil(() => settled === count, TURNS_MAX);
  assert.equal(settled, count);
  assert.ok(most < settlementsAtOnce + PER_CALL, `${most} at a time`);
  assert.deepEqual(faults, []);
});

/** A settler whose broker never answers; its calls of the connection are counted. */
function countedSettler(hasRoom: boolean) {
  const counts = { promises: 0, frames: 0 };
  const context = {
    limits: { tryHoldWork: () => hasRoom, countFrame: () => counts.frames++ },
    settlements: { add: () => counts.promises++ },
    transactions: { enlist: () => ({ add: () => {}, end: () => {} }) },
    background: () => counts.promises++,
    dependencies: {
      scheduler: { soon: () => {}, after: () => {} },
      random: { bytes: (length: number) => new Uint8Array(length) },
      clock: { now: () => 0 },
    },
  };
  const link = { unsettled: 0, settle: () => {}, reportState: () => {} };
  const path = parseEntityPath('q');
  const entity = { path, pathname: '/q' };
  const settler = new Settler(
    context as unknown as ClientContext,
    link as unknown as OutgoingLink,
    entity,
  );
  const take = (count: number, state: DeliveryState) => {
    for (let id = 0; id < count; id++) settler.add({ id, tag: new Uint8Array(16) }, state);
  };
  return { counts, take };
}

test('row 8: deliveries that are settled together share one promise', () => {
  const { counts, take } = countedSettler(true);
  take(5 * PER_CALL, { kind: 'accepted' });
  assert.deepEqual(counts, { promises: 2 * 5, frames: 0 });
});

const accepted = { kind: 'accepted' } as const;
const transactional = {
  kind: 'transactional',
  transaction: Buffer.of(1),
  outcome: accepted,
} as const;
for (const [what, hasRoom, state] of [
  ['for which there is no room', false, accepted],
  ['that belongs to a transaction', true, transactional],
] as const) {
  test(`row 8: a delivery ${what} counts as a frame, since its answer is one`, () => {
    const { counts, take } = countedSettler(hasRoom);
    take(50, state);
    assert.deepEqual(counts, { promises: 0, frames: 50 });
  });
}
