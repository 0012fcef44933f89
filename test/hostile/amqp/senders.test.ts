import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import { binary, described } from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { MB } from '../../../shared/domain/units.ts';
import { administrationOf } from '../../interop/administration/admin-clients.ts';
import { newName } from '../../interop/messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../../interop/start-namespace.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import {
  COORDINATOR,
  dataMessage,
  inTransaction,
  RawSession,
  targetOf,
} from '../../support/raw-session.ts';

const { incomingBytes, transactionBytes } = BUDGETS.connection;
/** Nearly the maximum message size of a default queue. */
const LARGE = writeSections({ body: [described(SECTION.data, binary(Buffer.alloc(250 * 1024)))] });
const PART_BYTES = 60_000;

const conditionOf = (state: DeliveryState | undefined) =>
  state?.kind === 'rejected' ? state.error?.condition : undefined;

/** Sends a message in as many frames as it needs, without waiting. */
function pipeline({ raw }: RawSession, handle: number, deliveryId: number, state?: DeliveryState) {
  for (let at = 0; at < LARGE.length; at += PART_BYTES) {
    const more = at + PART_BYTES < LARGE.length;
    const first = at === 0 ? { deliveryTag: Buffer.from(String(deliveryId)) } : {};
    const transfer = { kind: 'transfer', handle, deliveryId, more, ...first } as const;
    raw.say({ ...transfer, ...(state && { state }) }, 0, LARGE.subarray(at, at + PART_BYTES));
  }
}

describe('AMQP clients with the right to send', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
  });
  after(async () => {
    await namespace.stop();
    assert.deepEqual(namespace.faults, []);
  });

  const start = async () => {
    const queue = newName('hostile');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const session = RawSession.root(namespace.port);
    return { session, sender: await session.sender(targetOf(queue)) };
  };

  test('row 8: few bytes of many large messages are held at a time, and all are stored', async () => {
    const count = 60;
    const { session, sender } = await start();
    const empty = namespace.memory.held;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, namespace.memory.held - empty);
    }, 1);
    for (let id = 0; id < count; id++) pipeline(session, sender, id);
    const settled = new Set<number>();
    while (settled.size < count) {
      const { first, last = first, state } = await session.raw.hear('disposition');
      assert.equal(state?.kind, 'accepted');
      for (let id = first; id <= last; id++) settled.add(id);
    }
    clearInterval(watch);
    assert.ok(count * LARGE.length > 3 * incomingBytes, 'enough is sent');
    // The bytes of one read of the socket are handled together, and messages to be stored are copied.
    assert.ok(most < incomingBytes + 2 * MB, `${most} bytes were held`);
    session.raw.destroy();
  });

  test('row 6: open transactions hold bytes up to a limit, and release them', async () => {
    const { session, sender } = await start();
    const coordinator = await session.sender(COORDINATOR);
    const empty = namespace.memory.held;
    const ids = [await session.declare(coordinator), await session.declare(coordinator)];
    let refused: string | undefined;
    let sent = 0;
    for (; refused === undefined && sent < 100; sent++) {
      const id = ids[sent % 2] ?? Buffer.alloc(0);
      pipeline(session, sender, 1000 + sent, inTransaction(id));
      refused = conditionOf((await session.raw.hear('disposition')).state);
    }
    assert.equal(refused, 'amqp:resource-limit-exceeded');
    assert.equal(sent, Math.floor(transactionBytes / LARGE.length) + 1);
    assert.ok(namespace.memory.held - empty <= transactionBytes + MB);
    for (const id of ids) await session.discharge(coordinator, id, true);
    assert.ok(namespace.memory.held - empty < MB);
    session.raw.destroy();
  });

  test('row 6: a transaction refuses the first message beyond its limit', async () => {
    const { session, sender } = await start();
    const coordinator = await session.sender(COORDINATOR);
    const state = inTransaction(await session.declare(coordinator));
    for (let i = 0; i < LIMITS.transactionMessages; i++) {
      const outcome = await session.send(sender, dataMessage('m'), { state });
      assert.equal(outcome?.kind, 'transactional');
    }
    const outcome = await session.send(sender, dataMessage('m'), { state });
    assert.equal(conditionOf(outcome), 'amqp:not-allowed');
    session.raw.destroy();
  });

  test('row 6: a connection that ends releases the memory of its transactions', async () => {
    const { session, sender } = await start();
    const coordinator = await session.sender(COORDINATOR);
    const held = namespace.memory.held;
    const state = inTransaction(await session.declare(coordinator));
    pipeline(session, sender, 1000, state);
    await session.raw.hear('disposition');
    assert.ok(namespace.memory.held >= held + LARGE.length);
    session.raw.destroy();
    while (namespace.memory.held > 0) await new Promise(setImmediate);
  });
});

test('the connection that holds the most memory is evicted', async () => {
  const small = await startNamespace({ memoryBytes: 1.5 * MB });
  const queue = newName('hostile');
  await administrationOf(small.connectionString).createQueue(queue);
  const begin = async (parts: number) => {
    const session = RawSession.root(small.port);
    const handle = await session.sender(targetOf(queue));
    for (let i = 0; i < parts; i++) {
      const transfer = { kind: 'transfer', handle, deliveryId: 9, more: true } as const;
      session.raw.say(transfer, 0, Buffer.alloc(PART_BYTES));
    }
    return session;
  };
  const largest = await begin(17);
  while (small.memory.held < MB) await new Promise(setImmediate);
  const other = await begin(8);
  const { error } = await largest.raw.hear('close');
  assert.equal(error?.condition, 'amqp:resource-limit-exceeded');
  // The other connection still works.
  await other.sender(targetOf(queue));
  for (const { raw } of [largest, other]) raw.destroy();
  await small.stop();
});

test('unauthorized clients, however many, never evict an authorized one', async () => {
  const small = await startNamespace({ memoryBytes: 1.5 * MB });
  const queue = newName('hostile');
  await administrationOf(small.connectionString).createQueue(queue);
  const begin = async (session: RawSession, target: string, bytes: number) => {
    const handle = await session.sender(targetOf(target));
    for (let left = bytes; left > 0; left -= PART_BYTES) {
      const transfer = { kind: 'transfer', handle, deliveryId: 9, more: true } as const;
      session.raw.say(transfer, 0, Buffer.alloc(Math.min(left, PART_BYTES)));
    }
    return session;
  };
  const honest = await begin(RawSession.root(small.port), queue, MB);
  while (small.memory.held < MB) await new Promise(setImmediate);
  const unauthorizedMost = 1.5 * MB * BUDGETS.process.heldShareUnauthorized;
  const authorizedHeld = 1.5 * MB - small.memory.free;
  const strangers = Array.from(
    { length: 20 },
    () => new RawSession(RawAmqp.opened(small.port, 'ANONYMOUS')),
  );
  // Most get no memory and are closed; the messages of the others are all accepted.
  const attack = async (session: RawSession) => {
    await begin(session, '$cbs', 50_000);
    await session.sender(targetOf('$cbs'));
  };
  await Promise.all(strangers.map((session) => attack(session).catch(() => {})));
  assert.ok(small.memory.held - authorizedHeld <= unauthorizedMost);
  // The client with a right still works.
  await honest.sender(targetOf(queue));
  for (const { raw } of [honest, ...strangers]) raw.destroy();
  await small.stop();
});
