import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { SECTION, writeSections } from '../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../amqp/wire/states.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  list,
  mapOf,
  NULL,
  str,
  symbol,
} from '../../amqp/wire/value.ts';
import { RawAmqp } from '../support/raw-amqp.ts';
import { ROOT_KEY } from '../support/start-broker.ts';
import { administrationOf } from './admin-clients.ts';
import { newName } from './bus-entities.ts';
import { startNamespace, type TestNamespace } from './start-namespace.ts';

const COORDINATOR = described(0x30n, list([]));
const terminus = (code: bigint, address: string) => described(code, list([str(address)]));
const message = (body: string) =>
  writeSections({ body: [described(SECTION.data, binary(Buffer.from(body)))] });
const command = (code: bigint, ...fields: readonly AmqpValue[]) =>
  writeSections({ body: [described(SECTION.value, described(code, list(fields)))] });

/** A client with transactions, which the official one for JavaScript does not have. */
class Transacting {
  readonly raw: RawAmqp;
  #handle = 0;
  #delivery = 0;

  constructor(port: number) {
    this.raw = RawAmqp.authenticated(port, 'RootManageSharedAccessKey', ROOT_KEY);
  }

  async sender(target: AmqpValue, properties?: AmqpValue): Promise<number> {
    const handle = this.#handle++;
    const name = `sender-${handle}`;
    this.raw.say({
      kind: 'attach',
      name,
      handle,
      role: 'sender',
      source: terminus(0x28n, 'here'),
      target,
      initialDeliveryCount: 0,
      ...(properties === undefined ? {} : { properties }),
    });
    await this.raw.hear('flow');
    return handle;
  }

  /** Receives one message under a lock; what names its delivery comes back. */
  async lockOne(queue: string): Promise<number> {
    const handle = this.#handle++;
    this.raw.say({
      kind: 'attach',
      name: `receiver-${handle}`,
      handle,
      role: 'receiver',
      senderSettleMode: 0,
      receiverSettleMode: 1,
      source: terminus(0x28n, queue),
      target: terminus(0x29n, 'here'),
    });
    const windows = {
      nextIncomingId: 0,
      incomingWindow: 100,
      nextOutgoingId: 0,
      outgoingWindow: 100,
    };
    this.raw.say({ kind: 'flow', ...windows, handle, deliveryCount: 0, linkCredit: 1 });
    return (await this.raw.hear('transfer')).deliveryId ?? -1;
  }

  /** Sends, and returns what became of it. */
  async send(handle: number, payload: Uint8Array, state?: DeliveryState) {
    const deliveryId = this.#delivery++;
    const deliveryTag = Buffer.from([deliveryId]);
    this.raw.say(
      {
        kind: 'transfer',
        handle,
        deliveryId,
        deliveryTag,
        ...(state === undefined ? {} : { state }),
      },
      0,
      payload,
    );
    return (await this.#outcome('receiver', deliveryId)).state;
  }

  async settle(first: number, state: DeliveryState) {
    this.raw.say({ kind: 'disposition', role: 'receiver', first, settled: false, state });
    return await this.#outcome('sender', first);
  }

  /** What the server says of one delivery, past what it says of others. */
  async #outcome(role: 'sender' | 'receiver', id: number) {
    for (;;) {
      const said = await this.raw.hear('disposition');
      if (said.role === role && said.first === id) return said;
    }
  }

  async declare(coordinator: number): Promise<Uint8Array> {
    const state = await this.send(coordinator, command(0x31n, NULL));
    assert.ok(state?.kind === 'declared');
    return state.transaction;
  }

  async discharge(coordinator: number, id: Uint8Array, isRollback: boolean) {
    return await this.send(coordinator, command(0x32n, binary(id), bool(isRollback)));
  }
}

const inTransaction = (transaction: Uint8Array): DeliveryState => ({
  kind: 'transactional',
  transaction,
});
const accepting = (transaction: Uint8Array): DeliveryState => ({
  kind: 'transactional',
  transaction,
  outcome: { kind: 'accepted' },
});

describe('transactions over AMQP', () => {
  let namespace: TestNamespace;
  let client: ServiceBusClient;
  before(async () => {
    namespace = await startNamespace();
    client = new ServiceBusClient(namespace.connectionString);
  });
  after(async () => {
    await client.close();
    await namespace.stop();
  });

  const start = async () => {
    const queue = newName('transacted');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const transacting = new Transacting(namespace.port);
    const coordinator = await transacting.sender(COORDINATOR);
    // Each time from the beginning: a client goes on where its last look ended.
    const content = async () => {
      const looking = new ServiceBusClient(namespace.connectionString);
      const found = await looking.createReceiver(queue).peekMessages(20);
      await looking.close();
      return found.map(({ body }) => String(body));
    };
    return { queue, transacting, coordinator, content };
  };

  test('what is sent in a transaction is there once it is committed', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(terminus(0x29n, queue));
    const id = await transacting.declare(coordinator);
    for (const body of ['a', 'b']) {
      const state = await transacting.send(sender, message(body), inTransaction(id));
      assert.deepEqual(state, accepting(id));
    }
    assert.deepEqual(await content(), []);
    assert.deepEqual(await transacting.discharge(coordinator, id, false), { kind: 'accepted' });
    assert.deepEqual(await content(), ['a', 'b']);
    transacting.raw.destroy();
  });

  test('what is sent in a transaction that is rolled back never was', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(terminus(0x29n, queue));
    const id = await transacting.declare(coordinator);
    await transacting.send(sender, message('a'), inTransaction(id));
    assert.deepEqual(await transacting.discharge(coordinator, id, true), { kind: 'accepted' });
    assert.deepEqual(await content(), []);
    transacting.raw.destroy();
  });

  test('a message is completed and an answer sent, both or neither', async () => {
    const { queue, transacting, coordinator, content } = await start();
    await client.createSender(queue).sendMessages({ body: 'order' });
    const locked = await transacting.lockOne(queue);
    const sender = await transacting.sender(terminus(0x29n, queue));
    const rolledBack = await transacting.declare(coordinator);
    const noted = await transacting.settle(locked, accepting(rolledBack));
    assert.deepEqual([noted.settled, noted.state], [false, accepting(rolledBack)]);
    await transacting.send(sender, message('answer'), inTransaction(rolledBack));
    await transacting.discharge(coordinator, rolledBack, true);
    assert.deepEqual(await content(), ['order']);

    const committed = await transacting.declare(coordinator);
    await transacting.settle(locked, accepting(committed));
    await transacting.send(sender, message('answer'), inTransaction(committed));
    await transacting.discharge(coordinator, committed, false);
    assert.deepEqual(await content(), ['answer']);
    transacting.raw.destroy();
  });

  test('where the lock is lost the whole transaction is refused', async () => {
    const { queue, transacting, coordinator, content } = await start();
    await client.createSender(queue).sendMessages({ body: 'order' });
    const locked = await transacting.lockOne(queue);
    const sender = await transacting.sender(terminus(0x29n, queue));
    const id = await transacting.declare(coordinator);
    await transacting.send(sender, message('answer'), inTransaction(id));
    await transacting.settle(locked, accepting(id));
    const other = await transacting.declare(coordinator);
    await transacting.settle(locked, accepting(other));
    // The first to be discharged settles the message; the other finds it gone.
    await transacting.discharge(coordinator, other, false);
    const state = await transacting.discharge(coordinator, id, false);
    assert.ok(state?.kind === 'rejected');
    assert.equal(state.error?.condition, 'com.microsoft:message-lock-lost');
    assert.deepEqual(await content(), []);
    transacting.raw.destroy();
  });

  test('a transaction that is not open is unknown, and one ends with its coordinator', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(terminus(0x29n, queue));
    const unknown = await transacting.send(sender, message('a'), inTransaction(Buffer.alloc(16)));
    assert.ok(unknown?.kind === 'rejected');
    assert.equal(unknown.error?.condition, 'amqp:transaction:unknown-id');
    const id = await transacting.declare(coordinator);
    transacting.raw.say({ kind: 'detach', handle: coordinator, closed: true });
    await transacting.raw.hear('detach');
    const late = await transacting.send(sender, message('b'), inTransaction(id));
    assert.equal(late?.kind, 'rejected');
    assert.deepEqual(await content(), []);
    transacting.raw.destroy();
  });

  test('a link to one queue may send to another via the first', async () => {
    const via = await start();
    const destination = await start();
    const address = mapOf(
      { 'com.microsoft:transfer-destination-address': str(destination.queue) },
      symbol,
    );
    const sender = await via.transacting.sender(terminus(0x29n, via.queue), address);
    const id = await via.transacting.declare(via.coordinator);
    await via.transacting.send(sender, message('onward'), inTransaction(id));
    await via.transacting.discharge(via.coordinator, id, false);
    assert.deepEqual([await via.content(), await destination.content()], [[], ['onward']]);
    via.transacting.raw.destroy();
    destination.transacting.raw.destroy();
  });
});
