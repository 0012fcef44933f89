import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget, type MemoryShare } from '../../../shared/domain/budgets/memory-budget.ts';
import { MB } from '../../../shared/domain/units.ts';
import { FakePeer, fakeGateway, turnsUntil } from '../../support/fake-peer.ts';
import { dataMessage } from '../../support/raw-session.ts';

const { connectionBytes } = BUDGETS.weights;
const PAYLOAD = dataMessage('x'.repeat(60_000));
const COUNT = 40;
const SENT = COUNT * PAYLOAD.length;
/** The deliveries that one write stores. */
const GROUP = 512 * 1024;

/** A peer that sends on one link to a broker that stores nothing until it is released. */
async function sending(
  t: TestContext,
  { settled, memory }: { readonly settled: boolean; readonly memory: MemoryBudget },
) {
  const made = fakeGateway({ memory });
  const { broker, gateway } = made;
  const waiting: (() => void)[] = [];
  let isHeld = true;
  let stored = 0;
  broker.send = async (_, messages) => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    stored += messages.length;
    return [];
  };
  const peer = await FakePeer.root(gateway);
  t.after(() => peer.lost());
  peer.attach('sender', 'q', 0);
  await peer.settled();
  for (let deliveryId = 0; deliveryId < COUNT; deliveryId++) {
    const transfer = { kind: 'transfer', handle: 0, deliveryId, settled } as const;
    peer.say({ ...transfer, deliveryTag: Buffer.of(1) }, PAYLOAD);
  }
  await turnsUntil(() => waiting.length > 0);
  await peer.settled();
  /** Lets the broker store its messages; resolves with how many there were. */
  const store = async () => {
    isHeld = false;
    for (const resolve of waiting.splice(0)) resolve();
    await turnsUntil(() => gateway.connections === 0 && memory.held === 0, 200);
    return stored;
  };
  return { ...made, peer, store };
}

const unlimited = () => new MemoryBudget(Number.POSITIVE_INFINITY);
/** A process with memory for this and not much more. */
const LIMIT = 16 * MB;

/** Other peers take all memory, none more than a megabyte, and one of them that many bytes more. */
function crowd(memory: MemoryBudget, more: number): { leave(): void } {
  const never = () => assert.fail('the largest is to be ended');
  const shares: MemoryShare[] = [];
  for (let wanted = 0; wanted !== more; ) {
    wanted = memory.free === 0 ? more : Math.min(memory.free, MB);
    const share = memory.open(LIMIT, never);
    assert.equal(share.hold(wanted), true);
    shares.push(share);
  }
  return {
    leave: () => {
      for (const share of shares) share.close();
    },
  };
}

test('row 8: deliveries that wait to be stored are aborted if their connection is lost', async (t) => {
  const memory = unlimited();
  const { peer, store } = await sending(t, { settled: false, memory });
  assert.ok(memory.held > SENT);
  peer.lost();
  assert.ok(memory.held < 3 * GROUP, `${memory.held} bytes are counted`);
  const stored = await store();
  assert.ok(stored * PAYLOAD.length <= GROUP, `${stored} messages were stored`);
  assert.equal(memory.held, 0);
});

test('row 8: presettled deliveries of a lost connection count until they are stored', async (t) => {
  const memory = unlimited();
  const { peer, store } = await sending(t, { settled: true, memory });
  peer.lost();
  assert.ok(memory.held > SENT, `${memory.held} bytes are counted`);
  assert.equal(await store(), COUNT);
  assert.equal(memory.held, 0);
});

test('row 8: deliveries that arrived before a close count until they are stored', async (t) => {
  const memory = unlimited();
  const { peer, store } = await sending(t, { settled: false, memory });
  peer.say({ kind: 'close' });
  peer.lost();
  assert.ok(memory.held > SENT, `${memory.held} bytes are counted`);
  assert.equal(await store(), COUNT);
  assert.equal(memory.held, 0);
});

test('row 8: waiting deliveries of a lost connection are evicted for others', async (t) => {
  const memory = new MemoryBudget(LIMIT);
  const { peer, store } = await sending(t, { settled: true, memory });
  peer.lost();
  const others = crowd(memory, 1.5 * MB);
  others.leave();
  // Work under way still counts.
  assert.ok(memory.held > GROUP && memory.held < 3 * GROUP, `${memory.held} bytes are counted`);
  const stored = await store();
  assert.ok(stored * PAYLOAD.length <= GROUP, `${stored} messages were stored`);
  assert.equal(memory.held, 0);
});

for (const settled of [true, false]) {
  const become = settled ? 'is stored' : 'is given up';
  test(`row 8: what an evicted connection sent ${settled ? '' : 'un'}settled ${become}`, async (t) => {
    const memory = new MemoryBudget(LIMIT);
    const { peer, store } = await sending(t, { settled, memory });
    const before = memory.held;
    const others = crowd(memory, connectionBytes / 2);
    assert.equal(peer.isEnded, true);
    others.leave();
    peer.lost();
    if (settled) assert.ok(memory.held > before - 3 * connectionBytes);
    else assert.ok(memory.held < 3 * GROUP, `${memory.held} bytes are counted`);
    const stored = await store();
    assert.ok(settled ? stored === COUNT : stored * PAYLOAD.length <= GROUP, `${stored} stored`);
    assert.equal(memory.held, 0);
  });
}
