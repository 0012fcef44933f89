import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  described,
  fieldsOf,
  int,
  list,
  mapOf,
  NULL,
  numberOf,
  str,
  symbol,
  uint,
} from '../../../amqp/wire/value.ts';
import { RawAmqp } from '../../support/raw-amqp.ts';
import {
  dataMessage,
  dataOf,
  RawSession,
  sessionSource,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

describe('frames of the Java client', () => {
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
    const queue = newName('java');
    await administrationOf(namespace.connectionString).createQueue(queue, { requiresSession });
    return queue;
  };

  test('a link and its session end at once, and both are answered, the link first', async () => {
    const queue = await newQueue();
    const session = RawSession.root(namespace.port);
    const { handle } = await session.receiver(sourceOf(queue));
    session.raw.say({ kind: 'detach', handle, closed: true });
    session.raw.say({ kind: 'end' });
    assert.equal((await session.raw.hear('detach', 'end')).kind, 'detach');
    assert.equal((await session.raw.hear('detach', 'end')).kind, 'end');
    session.raw.destroy();
  });

  test('an AMQP session that ends with its link, or in place of it, releases what the link held', async () => {
    const queue = await newQueue(true);
    const raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    const accept = () => new RawSession(raw).receiver(sessionSource(queue, str('A')));
    for (const isDetached of [true, false, true]) {
      const { handle, source } = await accept();
      assert.ok(source !== undefined, 'the session is free');
      if (isDetached) raw.say({ kind: 'detach', handle, closed: true });
      raw.say({ kind: 'end' });
      await raw.hear('end');
      raw.begin();
    }
    raw.destroy();
  });

  test('requests and replies may use different AMQP sessions', async () => {
    const queue = await newQueue();
    await client.createSender(queue).sendMessages({ body: 'seen' });
    const raw = RawAmqp.authenticated(namespace.port, 'RootManageSharedAccessKey', ROOT_KEY);
    raw.begin(1);
    const address = `${queue}/$management`;
    const properties = mapOf(
      { 'com.microsoft:entity-type': int(9), 'com.microsoft:timeout': uint(30_000) },
      symbol,
    );
    const modes = { senderSettleMode: 1, receiverSettleMode: 0, properties };
    const asks = await new RawSession(raw).sender(targetOf(address), modes);
    const hearing = new RawSession(raw, 1);
    const links = [sourceOf(address), targetOf('answers')] as const;
    const { handle } = await hearing.attach('receiver', links, modes);
    hearing.credit(handle, 0x7fff_ffff);
    const payload = writeSections({
      properties: list([str('request:1'), NULL, NULL, NULL, str('answers')]),
      applicationProperties: mapOf({
        operation: str('com.microsoft:peek-message'),
        'com.microsoft:server-timeout': uint(29_000),
      }),
      body: [described(SECTION.value, mapOf({ 'message-count': int(1) }))],
    });
    const deliveryTag = Buffer.from('a tag of a length of its own');
    const transfer = { kind: 'transfer', handle: asks, deliveryId: 0, deliveryTag } as const;
    raw.say({ ...transfer, settled: true }, 0, payload);
    const answer = readSections((await raw.hear('transfer')).payload ?? new Uint8Array());
    assert.equal(numberOf(fieldsOf(answer.applicationProperties).get('statusCode')), 200);
    raw.destroy();
  });

  test('one disposition settles a range of deliveries', async () => {
    const queue = await newQueue();
    const sender = client.createSender(queue);
    await sender.sendMessages(['a', 'b', 'c', 'd'].map((body) => ({ body: Buffer.from(body) })));
    const session = RawSession.root(namespace.port);
    const { handle } = await session.receiver(sourceOf(queue));
    session.credit(handle, 4);
    const ids: number[] = [];
    for (const body of ['a', 'b', 'c', 'd']) {
      const { deliveryId = -1, payload } = await session.raw.hear('transfer');
      assert.equal(dataOf(payload), body);
      ids.push(deliveryId);
    }
    const [first = -1, , last = -1] = ids;
    const state = { kind: 'accepted' } as const;
    session.raw.say({ kind: 'disposition', role: 'receiver', first, last, settled: false, state });
    const said = await session.raw.hear('disposition');
    assert.deepEqual([said.first, said.last, said.settled], [first, last, true]);
    const left = await client.createReceiver(queue).peekMessages(10);
    assert.deepEqual(
      left.map(({ body }) => String(body)),
      ['d'],
    );
    session.raw.destroy();
  });

  test('a source and a target may lack an address, and an attach its properties', async () => {
    const queue = await newQueue();
    const session = RawSession.root(namespace.port);
    const nowhere = described(0x28n, list([NULL]));
    const { handle, maxMessageSize } = await session.attach('sender', [nowhere, targetOf(queue)]);
    assert.equal(maxMessageSize, 262_144n);
    await session.raw.hear('flow');
    assert.deepEqual(await session.send(handle, dataMessage('hello')), { kind: 'accepted' });
    const there = described(0x29n, list([NULL]));
    const { handle: hears } = await session.attach('receiver', [sourceOf(queue), there]);
    session.credit(hears, 1);
    const { payload, settled } = await session.raw.hear('transfer');
    assert.deepEqual([dataOf(payload), settled], ['hello', false]);
    session.raw.destroy();
  });
});
