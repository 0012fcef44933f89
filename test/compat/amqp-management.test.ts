import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { readSections, SECTION } from '../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  array,
  codeOf,
  elementsOf,
  fieldsOf,
  int,
  mapOf,
  numberOf,
  str,
  textOf,
  timestamp,
} from '../../amqp/wire/value.ts';
import { RawSession } from '../support/raw-session.ts';
import { administrationOf } from './admin-clients.ts';
import { newName } from './bus-entities.ts';
import { startNamespace, type TestNamespace } from './start-namespace.ts';

/** What clients send for "sessions with messages". */
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

  test('sessions with messages are listed, page by page; then there is nothing', async () => {
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
      const { status, body } = await asking.ask(queue, 'get-message-sessions', page);
      if (status === 204) break;
      assert.equal(status, 200);
      skip = numberOf(body.get('skip')) ?? 0;
      found.push(...elementsOf(body.get('sessions-ids')).map((id) => textOf(id) ?? ''));
    }
    assert.deepEqual(found.sort(), ids);
    asking.raw.destroy();
  });

  test('what is asked wrongly is refused by name, and the link goes on', async () => {
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
    assert.equal(peek.status, 204);
    asking.raw.destroy();
  });

  test('a peek may leave the bodies out', async () => {
    const queue = newName('peeked');
    await administrationOf(namespace.connectionString).createQueue(queue);
    await client.createSender(queue).sendMessages({ body: 'long', subject: 'short' });
    const asking = RawSession.root(namespace.port);
    const { body } = await asking.ask(
      queue,
      'peek-message',
      mapOf({ 'message-count': int(1), 'omit-message-body': { type: 'boolean', value: true } }),
    );
    const [entry] = elementsOf(body.get('messages'));
    const bytes = fieldsOf(entry).get('message');
    assert.ok(bytes?.type === 'binary');
    const { body: sections, properties } = readSections(bytes.value);
    assert.ok(
      JSON.stringify(properties, (_, v) => (typeof v === 'bigint' ? `${v}` : v)).includes('short'),
    );
    const [section] = sections;
    assert.ok(section?.type === 'described' && codeOf(section) === SECTION.data);
    assert.deepEqual(section.value.type === 'binary' && section.value.value.byteLength, 0);
    asking.raw.destroy();
  });
});
