import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AmqpAnnotatedMessage } from '@azure/core-amqp';
import { ServiceBusClient } from '@azure/service-bus';
import { readSections } from '../../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  array,
  bool,
  elementsOf,
  fieldsOf,
  int,
  long,
  mapOf,
  NULL,
  numberOf,
  str,
  textOf,
  timestamp,
} from '../../../amqp/wire/value.ts';
import { RawSession } from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName, receiveOne } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** The time that clients send to ask for sessions with messages. */
const ALL_TIME = timestamp(253_402_300_800_000);

describe('requests to $management', () => {
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

  test('sessions with messages are listed page by page, up to an empty page', async () => {
    const queue = newName('listed');
    await administrationOf(namespace.connectionString).createQueue(queue, {
      requiresSession: true,
    });
    const ids = ['A', 'B', 'C'];
    await client
      .createSender(queue)
      .sendMessages(ids.map((sessionId) => ({ body: sessionId, sessionId })));
    const asking = RawSession.root(namespace.port);
    const found: string[] = [];
    for (let skip = 0; ; ) {
      const page = mapOf({ 'last-updated-time': ALL_TIME, skip: int(skip), top: int(2) });
      const { status, condition, body } = await asking.ask(queue, 'get-message-sessions', page);
      if (status === 204) {
        assert.equal(condition, 'com.microsoft:session-not-found');
        break;
      }
      assert.equal(status, 200);
      skip = numberOf(body.get('skip')) ?? 0;
      found.push(...elementsOf(body.get('sessions-ids')).map((id) => textOf(id) ?? ''));
    }
    assert.deepEqual(found.sort(), ids);
    asking.raw.destroy();
  });

  test('an invalid request is refused with its mistake, and the link stays open', async () => {
    const queue = newName('asked');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const asking = RawSession.root(namespace.port);
    const wrong: readonly [string, AmqpValue, number, string][] = [
      ['no-such-operation', mapOf({}), 501, 'amqp:not-implemented'],
      ['constructor', mapOf({}), 501, 'amqp:not-implemented'],
      ['peek-message', mapOf({}), 400, 'com.microsoft:argument-error'],
      ['peek-message', str('nothing'), 400, 'com.microsoft:argument-error'],
      [
        'renew-lock',
        mapOf({ 'lock-tokens': array('int', [int(1)]) }),
        400,
        'com.microsoft:argument-error',
      ],
      [
        'renew-session-lock',
        mapOf({ 'session-id': str('S') }),
        410,
        'com.microsoft:session-lock-lost',
      ],
      ['get-message-sessions', mapOf({ top: int(1) }), 400, 'amqp:not-allowed'],
      ['add-rule', mapOf({ 'rule-name': str('r') }), 400, 'com.microsoft:argument-error'],
    ];
    for (const [operation, body, status, condition] of wrong) {
      const answer = await asking.ask(queue, operation, body);
      assert.deepEqual([answer.status, answer.condition], [status, condition], operation);
    }
    const peek = await asking.ask(queue, 'peek-message', mapOf({ 'message-count': int(1) }));
    assert.deepEqual([peek.status, peek.condition], [204, 'com.microsoft:message-not-found']);
    const old = mapOf({ 'message-count': int(1), 'enqueued-time-utc': timestamp(0) });
    const { status, condition } = await asking.ask(queue, 'batch-delete-messages', old);
    assert.deepEqual([status, condition], [204, 'com.microsoft:message-not-found']);
    asking.raw.destroy();
  });

  test('a request without a reply link is answered on the one in its session', async () => {
    const [queue, another] = [newName('asked'), newName('asked')];
    for (const name of [another, queue]) {
      await administrationOf(namespace.connectionString).createQueue(name);
      const asking = RawSession.root(namespace.port);
      const one = mapOf({ 'message-count': int(1) });
      const peek = await asking.ask(name, 'peek-message', one, { replyTo: NULL });
      assert.equal(peek.status, 204);
      asking.raw.destroy();
    }
  });

  test('a peek from a number below the first begins at the front, also of a partitioned queue', async () => {
    const queue = newName('partitioned');
    await administrationOf(namespace.connectionString).createQueue(queue, {
      enablePartitioning: true,
    });
    const bodies = Array.from({ length: 20 }, (_, i) => `${i}`);
    const sender = client.createSender(queue);
    for (const body of bodies) await sender.sendMessages({ body, partitionKey: body });
    const asking = RawSession.root(namespace.port);
    const from = (number: bigint) =>
      mapOf({ 'message-count': int(250), 'from-sequence-number': long(number) });
    const shown = async (number: bigint) => {
      const { body } = await asking.ask(queue, 'peek-message', from(number));
      return elementsOf(body.get('messages'))?.length;
    };
    assert.deepEqual([await shown(0n), await shown(-1n)], [20, 20]);
    asking.raw.destroy();
  });

  test('a request after a settlement sees its effect', async () => {
    const queue = newName('deferred');
    await administrationOf(namespace.connectionString).createQueue(queue);
    await client.createSender(queue).sendMessages({ body: 'later' });
    const asking = RawSession.root(namespace.port);
    // Its links are attached before the settlement, so that nothing happens in between.
    await asking.ask(queue, 'peek-message', mapOf({ 'message-count': int(1) }));
    const first = await asking.lockOne(queue);
    // Without waiting for the answer, as the official Python client does.
    const state = { kind: 'modified', deliveryFailed: false, undeliverableHere: true } as const;
    const settling = { kind: 'disposition', role: 'receiver', first, settled: true } as const;
    asking.raw.say({ ...settling, state });
    const numbers = mapOf({ 'sequence-numbers': array('long', [long(1n)]) });
    const { status } = await asking.ask(queue, 'receive-by-sequence-number', numbers);
    assert.equal(status, 200);
    asking.raw.destroy();
  });

  test('a peek may omit the bodies', async () => {
    const queue = newName('peeked');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const sent: AmqpAnnotatedMessage = {
      body: Buffer.from('long'),
      bodyType: 'data',
      properties: { subject: 'short' },
      messageAnnotations: { mine: 'kept' },
    };
    await client.createSender(queue).sendMessages(sent);
    const asking = RawSession.root(namespace.port);
    const { body } = await asking.ask(
      queue,
      'peek-message',
      mapOf({ 'message-count': int(1), 'omit-message-body': bool(true) }),
    );
    const [entry] = elementsOf(body.get('messages'));
    const bytes = fieldsOf(entry).get('message');
    assert.ok(bytes?.type === 'binary');
    const { body: sections, properties, annotations } = readSections(bytes.value);
    assert.deepEqual(sections, []);
    assert.ok(properties?.type === 'described');
    assert.equal(textOf(elementsOf(properties.value)[3]), 'short');
    assert.equal(textOf(fieldsOf(annotations).get('mine')), 'kept');
    const receiver = client.createReceiver(queue);
    const [peeked] = await receiver.peekMessages(1, { omitMessageBody: true } as object);
    assert.ok(peeked && peeked.body === undefined);
    assert.deepEqual((await receiveOne(receiver)).body, Buffer.from('long'));
    asking.raw.destroy();
  });
});
