import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { guidBytes, guidText, swapGuid } from '../../../amqp/messages/property-values.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  array,
  bigintOf,
  binary,
  described,
  elementsOf,
  fieldsOf,
  list,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
  uuid,
} from '../../../amqp/wire/value.ts';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import {
  accepting,
  COORDINATOR,
  dataMessage,
  dataOf,
  inTransaction,
  RawSession,
  sessionSource,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** The session window of a client without a limit. */
const UINT_MAX = 0xffff_ffff;
const BATCH_FORMAT = 0x80013700;
const HOUR_MS = 60 * 60 * 1000;

const hello = (body: string) => ({ body: Buffer.from(body) });
const tokenFor = (audience: string, keyName = 'RootManageSharedAccessKey', key = ROOT_KEY) =>
  createSasToken({ audience, keyName, key, expiresAt: Date.now() + HOUR_MS });

describe('frames of the .NET client', () => {
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

  const newQueue = async (requiresSession = false) => {
    const queue = newName('dotnet');
    await administrationOf(namespace.connectionString).createQueue(queue, { requiresSession });
    return queue;
  };
  /** Peeks from the first message: a client's next peek would continue after its last one. */
  const content = async (queue: string) => {
    const looking = new ServiceBusClient(namespace.connectionString);
    const found = await looking.createReceiver(queue).peekMessages(20);
    await looking.close();
    return found.map(({ body }) => String(body));
  };

  test('tokens are put after MSSBCBS, and addresses are paths with a leading slash', async () => {
    const queue = await newQueue();
    const raw = RawAmqp.opened(namespace.port, 'MSSBCBS');
    const session = new RawSession(raw);
    const address = `amqps://localhost/${queue}`;
    const refused = await session.attach('sender', [sourceOf('here'), targetOf(`/${queue}`)]);
    assert.equal(refused.target, undefined);
    assert.equal(await session.putToken(tokenFor(`amqps://localhost/${queue}`), address), 202);
    const link = await session.sender(targetOf(`/${queue}`));
    assert.deepEqual(await session.send(link, dataMessage('hello')), { kind: 'accepted' });
    raw.destroy();
  });

  test('an unlimited window and credit let all messages through', async () => {
    const queue = await newQueue();
    const raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    raw.begin(1, UINT_MAX);
    const session = new RawSession(raw, 1);
    const { handle } = await session.receiver(sourceOf(`/${queue}`));
    session.credit(handle, UINT_MAX, UINT_MAX);
    for (const body of ['a', 'b', 'c']) {
      await client.createSender(queue).sendMessages(hello(body));
      const { payload, deliveryId = -1, deliveryTag } = await raw.hear('transfer');
      assert.equal(dataOf(payload), body);
      assert.equal(deliveryTag?.byteLength, 16);
      session.credit(handle, UINT_MAX, UINT_MAX);
      assert.equal((await session.settle(deliveryId, { kind: 'accepted' })).settled, true);
    }
    assert.deepEqual(await content(queue), []);
    raw.destroy();
  });

  test('credit that is granted before the link is attached counts', async () => {
    const queue = await newQueue();
    await client.createSender(queue).sendMessages(hello('prefetched'));
    const session = RawSession.root(namespace.port);
    const attached = session.receiver(sourceOf(queue));
    session.credit(0, 10);
    await attached;
    assert.equal(dataOf((await session.raw.hear('transfer')).payload), 'prefetched');
    session.raw.destroy();
  });

  test('a batch has the sections of its first message around it, and may have one message', async () => {
    const queue = await newQueue();
    const session = RawSession.root(namespace.port);
    const link = await session.sender(targetOf(queue));
    const batchOf = (...bodies: readonly string[]) =>
      writeSections({
        properties: list([str('first')]),
        annotations: mapOf({ 'x-opt-partition-key': str('k') }, symbol),
        body: bodies.map((body) => described(SECTION.data, binary(dataMessage(body)))),
      });
    const batch = { messageFormat: BATCH_FORMAT };
    for (const payload of [batchOf('a', 'b'), batchOf('c')]) {
      assert.deepEqual(await session.send(link, payload, batch), { kind: 'accepted' });
    }
    assert.deepEqual(await content(queue), ['a', 'b', 'c']);
    session.raw.destroy();
  });

  test('the next available session is returned with its id and the end of its lock in ticks', async () => {
    const queue = await newQueue(true);
    await client.createSender(queue).sendMessages({ ...hello('one'), sessionId: 'S' });
    const session = RawSession.root(namespace.port);
    const { source, properties } = await session.receiver(sessionSource(queue, NULL));
    const filters = source?.type === 'described' ? elementsOf(source.value)[7] : undefined;
    assert.deepEqual(fieldsOf(filters).get('com.microsoft:session-filter'), str('S'));
    const until = fieldsOf(properties).get('com.microsoft:locked-until-utc');
    assert.equal(until?.type, 'long');
    const ms = Number((bigintOf(until) ?? 0n) / 10_000n - 62_135_596_800_000n);
    assert.ok(Math.abs(ms - Date.now()) < 5 * 60_000, new Date(ms).toISOString());
    session.raw.destroy();
  });

  test('one transaction spans entities, each with its own right, all or nothing', async () => {
    const [orders, answers] = [await newQueue(), await newQueue()];
    await client.createSender(orders).sendMessages([hello('one'), hello('two')]);
    const admin = administrationOf(namespace.connectionString);
    const key = Buffer.alloc(32, 'key').toString('base64');
    const keys = { primaryKey: key, secondaryKey: key };
    const claims = [
      [orders, 'Listen'],
      [answers, 'Send'],
    ] as const;
    const raw = RawAmqp.opened(namespace.port, 'MSSBCBS');
    const session = new RawSession(raw);
    // The coordinator link is attached first, before the client has any right.
    const coordinator = await session.sender(COORDINATOR);
    for (const [queue, right] of claims) {
      const rule = { claimType: 'SharedAccessKey', keyName: right, accessRights: [right], ...keys };
      const properties = await admin.getQueue(queue);
      await admin.updateQueue({ ...properties, authorizationRules: [rule] } as never);
      const address = `amqps://localhost/${queue}`;
      assert.equal(await session.putToken(tokenFor(address, right, key), address), 202);
    }
    const { handle } = await session.receiver(sourceOf(`/${orders}`));
    session.credit(handle, 2);
    const [first, second] = [await raw.hear('transfer'), await raw.hear('transfer')];
    const stranger = await session.attach('sender', [sourceOf('here'), targetOf(`/${orders}`)]);
    assert.equal(stranger.target, undefined);
    const sender = await session.sender(targetOf(`/${answers}`));

    for (const [{ deliveryId = -1 }, isRollback] of [
      [first, true],
      [second, false],
    ] as const) {
      const id = await session.declare(coordinator);
      const noted = await session.settle(deliveryId, accepting(id));
      assert.deepEqual([noted.settled, noted.state], [false, accepting(id)]);
      const state = inTransaction(id);
      const answer = dataMessage(`to ${deliveryId}`);
      assert.deepEqual(await session.send(sender, answer, { state }), accepting(id));
      const done = await session.discharge(coordinator, id, isRollback);
      assert.deepEqual(done, { kind: 'accepted' });
    }
    assert.deepEqual(await content(orders), ['one']);
    assert.deepEqual(await content(answers), [`to ${second.deliveryId}`]);
    raw.destroy();
  });

  test('messages of two entities are not settled in one transaction', async () => {
    const queues = [await newQueue(), await newQueue()];
    const session = RawSession.root(namespace.port);
    const coordinator = await session.sender(COORDINATOR);
    const id = await session.declare(coordinator);
    for (const queue of queues) {
      await client.createSender(queue).sendMessages(hello('here'));
      await session.settle(await session.lockOne(queue), accepting(id));
    }
    const state = await session.discharge(coordinator, id, false);
    assert.ok(state?.kind === 'rejected');
    assert.equal(state.error?.condition, 'amqp:not-allowed');
    for (const queue of queues) assert.deepEqual(await content(queue), ['here']);
    session.raw.destroy();
  });

  test('requests can be part of a transaction', async () => {
    const queue = await newQueue();
    await client.createSender(queue).sendMessages(hello('order'));
    const session = RawSession.root(namespace.port);
    const coordinator = await session.sender(COORDINATOR);
    const { handle } = await session.receiver(sourceOf(queue));
    session.credit(handle, 1);
    const { deliveryTag = new Uint8Array() } = await session.raw.hear('transfer');
    const token = uuid(guidBytes(guidText(swapGuid(deliveryTag))));
    const completed = mapOf({
      'lock-tokens': array('uuid', [token]),
      'disposition-status': str('completed'),
    });
    const later = writeSections({
      annotations: mapOf(
        { 'x-opt-scheduled-enqueue-time': timestamp(Date.now() + HOUR_MS) },
        symbol,
      ),
      body: [described(SECTION.data, binary(Buffer.from('later')))],
    });
    const scheduled = mapOf({
      messages: list([mapOf({ message: binary(later), 'message-id': str('m') })]),
    });
    for (const isRollback of [true, false]) {
      const id = await session.declare(coordinator);
      const state = inTransaction(id);
      const numbers = await session.ask(queue, 'schedule-message', scheduled, { state });
      assert.equal(numbers.status, 200);
      assert.equal(elementsOf(numbers.body.get('sequence-numbers')).length, 1);
      const settled = await session.ask(queue, 'update-disposition', completed, { state });
      assert.equal(settled.status, 200);
      assert.deepEqual(await content(queue), ['order']);
      await session.discharge(coordinator, id, isRollback);
      assert.deepEqual(await content(queue), isRollback ? ['order'] : ['later']);
    }
    session.raw.destroy();
  });

  test('a request that cannot wait for the end of a transaction is refused in one', async () => {
    const queue = await newQueue();
    const session = RawSession.root(namespace.port);
    const state = inTransaction(await session.declare(await session.sender(COORDINATOR)));
    const cancelled = mapOf({ 'sequence-numbers': array('long', [{ type: 'long', value: 1n }]) });
    const refused = await session.ask(queue, 'cancel-scheduled-message', cancelled, { state });
    assert.deepEqual([refused.status, refused.condition], [501, 'amqp:not-implemented']);
    const unknown = inTransaction(Buffer.alloc(16));
    const { status, condition } = await session.ask(queue, 'schedule-message', mapOf({}), {
      state: unknown,
    });
    assert.deepEqual([status, condition], [400, 'com.microsoft:argument-error']);
    session.raw.destroy();
  });
});
