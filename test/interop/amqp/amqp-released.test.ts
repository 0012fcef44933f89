import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readSections } from '../../../amqp/messages/sections.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import { ListFields } from '../../../amqp/wire/fields.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import { type AmqpValue, described, list, NULL, str } from '../../../amqp/wire/value.ts';
import {
  COORDINATOR,
  dataMessage,
  inTransaction,
  RawSession,
  sessionSource,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const RELEASED = { kind: 'released' } as const;
/** The position of the delivery count in a header. */
const DELIVERY_COUNT = 4;

/** The vendor's live tests assert that the outcome `released` never counts a delivery. */
describe('messages released by the live tests of the vendor', () => {
  let namespace: TestNamespace;
  let session: RawSession;
  before(async () => {
    namespace = await startNamespace();
    session = RawSession.root(namespace.port);
  });
  after(async () => {
    session.raw.destroy();
    await namespace.stop();
  });

  const queueWith = async (
    message: Uint8Array,
    options: { requiresSession?: boolean; maxDeliveryCount?: number } = {},
  ) => {
    const queue = newName('released');
    await administrationOf(namespace.connectionString).createQueue(queue, options);
    const sender = await session.sender(targetOf(queue));
    await session.send(sender, message);
    return queue;
  };

  /** Receives a message, settles it, detaches, and returns its delivery count. */
  const deliver = async (source: AmqpValue, outcome: DeliveryState) => {
    const { handle } = await session.receiver(source);
    session.credit(handle, 1);
    const { payload = new Uint8Array(), deliveryId = -1 } = await session.raw.hear('transfer');
    await session.settle(deliveryId, outcome);
    session.raw.say({ kind: 'detach', handle, closed: true });
    await session.raw.hear('detach');
    const { header } = readSections(payload);
    return header && new ListFields(header).number(DELIVERY_COUNT);
  };

  test('in a queue', async () => {
    const queue = sourceOf(await queueWith(dataMessage('m'), { maxDeliveryCount: 2 }));
    const outcomes = [RELEASED, RELEASED, RELEASED, { kind: 'modified', deliveryFailed: true }];
    const counts: unknown[] = [];
    for (const outcome of outcomes) counts.push(await deliver(queue, outcome as DeliveryState));
    counts.push(await deliver(queue, RELEASED), await deliver(queue, { kind: 'accepted' }));
    assert.deepEqual(counts, [0, 0, 0, 0, 1, 1]);
  });

  test('in a session', async () => {
    const properties = described(0x73n, list([...Array<AmqpValue>(10).fill(NULL), str('A')]));
    const message = Buffer.concat([encode(properties), dataMessage('m')]);
    const queue = await queueWith(message, { requiresSession: true });
    const source = sessionSource(queue, str('A'));
    const counts = [await deliver(source, RELEASED), await deliver(source, RELEASED)];
    assert.deepEqual(counts, [0, 0]);
  });

  test('in a dead-letter queue, where no delivery counts', async () => {
    const queue = await queueWith(dataMessage('m'));
    const modified = { kind: 'modified', deliveryFailed: true } as const;
    await deliver(sourceOf(queue), modified);
    const error = { condition: 'com.microsoft:dead-letter' };
    await deliver(sourceOf(queue), { kind: 'rejected', error });
    const dead = sourceOf(`${queue}/$deadletterqueue`);
    const counts = [await deliver(dead, RELEASED), await deliver(dead, RELEASED)];
    assert.deepEqual(counts, [1, 1]);
  });

  test('in a transaction', async () => {
    const queue = await queueWith(dataMessage('m'));
    const coordinator = await session.sender(COORDINATOR);
    const id = await session.declare(coordinator);
    const released = { ...inTransaction(id), outcome: RELEASED } as DeliveryState;
    const { handle } = await session.receiver(sourceOf(queue));
    session.credit(handle, 1);
    const { deliveryId = -1 } = await session.raw.hear('transfer');
    await session.settle(deliveryId, released);
    await session.discharge(coordinator, id, false);
    assert.equal(await deliver(sourceOf(queue), { kind: 'accepted' }), 0);
  });
});
