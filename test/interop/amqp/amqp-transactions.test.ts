import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { mapOf, str, symbol } from '../../../amqp/wire/value.ts';
import {
  accepting,
  COORDINATOR,
  inTransaction,
  dataMessage as message,
  RawSession,
  targetOf,
} from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

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
    const transacting = RawSession.root(namespace.port);
    const coordinator = await transacting.sender(COORDINATOR);
    // From the first message: a client's next peek continues after its last one.
    const content = async () => {
      const looking = new ServiceBusClient(namespace.connectionString);
      const found = await looking.createReceiver(queue).peekMessages(20);
      await looking.close();
      return found.map(({ body }) => String(body));
    };
    return { queue, transacting, coordinator, content };
  };

  test('messages of a transaction can be received once it is committed', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(targetOf(queue));
    const id = await transacting.declare(coordinator);
    for (const body of ['a', 'b']) {
      const state = await transacting.send(sender, message(body), { state: inTransaction(id) });
      assert.deepEqual(state, accepting(id));
    }
    assert.deepEqual(await content(), []);
    assert.deepEqual(await transacting.discharge(coordinator, id, false), { kind: 'accepted' });
    assert.deepEqual(await content(), ['a', 'b']);
    transacting.raw.destroy();
  });

  test('messages of a transaction that is rolled back are never stored', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(targetOf(queue));
    const id = await transacting.declare(coordinator);
    await transacting.send(sender, message('a'), { state: inTransaction(id) });
    assert.deepEqual(await transacting.discharge(coordinator, id, true), { kind: 'accepted' });
    assert.deepEqual(await content(), []);
    transacting.raw.destroy();
  });

  test('a message is completed and a reply sent, both or neither', async () => {
    const { queue, transacting, coordinator, content } = await start();
    await client.createSender(queue).sendMessages({ body: 'order' });
    const locked = await transacting.lockOne(queue);
    const sender = await transacting.sender(targetOf(queue));
    const rolledBack = await transacting.declare(coordinator);
    const noted = await transacting.settle(locked, accepting(rolledBack));
    assert.deepEqual([noted.settled, noted.state], [false, accepting(rolledBack)]);
    await transacting.send(sender, message('answer'), { state: inTransaction(rolledBack) });
    await transacting.discharge(coordinator, rolledBack, true);
    assert.deepEqual(await content(), ['order']);

    const committed = await transacting.declare(coordinator);
    await transacting.settle(locked, accepting(committed));
    await transacting.send(sender, message('answer'), { state: inTransaction(committed) });
    await transacting.discharge(coordinator, committed, false);
    assert.deepEqual(await content(), ['answer']);
    transacting.raw.destroy();
  });

  test('if a lock is lost the whole transaction is refused', async () => {
    const { queue, transacting, coordinator, content } = await start();
    await client.createSender(queue).sendMessages({ body: 'order' });
    const locked = await transacting.lockOne(queue);
    const sender = await transacting.sender(targetOf(queue));
    const id = await transacting.declare(coordinator);
    await transacting.send(sender, message('answer'), { state: inTransaction(id) });
    await transacting.settle(locked, accepting(id));
    const other = await transacting.declare(coordinator);
    await transacting.settle(locked, accepting(other));
    // The first discharge settles the message, so the second one fails.
    await transacting.discharge(coordinator, other, false);
    const state = await transacting.discharge(coordinator, id, false);
    assert.ok(state?.kind === 'rejected');
    assert.equal(state.error?.condition, 'com.microsoft:message-lock-lost');
    assert.deepEqual(await content(), []);
    transacting.raw.destroy();
  });

  test('a transaction that is not open is unknown, and one ends with its coordinator link', async () => {
    const { queue, transacting, coordinator, content } = await start();
    const sender = await transacting.sender(targetOf(queue));
    const unknown = await transacting.send(sender, message('a'), {
      state: inTransaction(Buffer.alloc(16)),
    });
    assert.ok(unknown?.kind === 'rejected');
    assert.equal(unknown.error?.condition, 'amqp:transaction:unknown-id');
    const id = await transacting.declare(coordinator);
    transacting.raw.say({ kind: 'detach', handle: coordinator, closed: true });
    await transacting.raw.hear('detach');
    const late = await transacting.send(sender, message('b'), { state: inTransaction(id) });
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
    const sender = await via.transacting.sender(targetOf(via.queue), { properties: address });
    const id = await via.transacting.declare(via.coordinator);
    await via.transacting.send(sender, message('onward'), { state: inTransaction(id) });
    await via.transacting.discharge(via.coordinator, id, false);
    assert.deepEqual([await via.content(), await destination.content()], [[], ['onward']]);
    via.transacting.raw.destroy();
    destination.transacting.raw.destroy();
  });
});
