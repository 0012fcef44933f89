import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { readSections, SECTION, writeSections } from '../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  array,
  codeOf,
  described,
  elementsOf,
  fieldsOf,
  int,
  list,
  long,
  mapOf,
  NULL,
  numberOf,
  str,
  textOf,
  timestamp,
} from '../../amqp/wire/value.ts';
import { RawAmqp } from '../support/raw-amqp.ts';
import { ROOT_KEY } from '../support/start-broker.ts';
import { administrationOf } from './admin-clients.ts';
import { newName } from './bus-entities.ts';
import { startNamespace, type TestNamespace } from './start-namespace.ts';

const terminus = (code: bigint, address: string) => described(code, list([str(address)]));
/** What clients send for "sessions with messages". */
const ALL_TIME = timestamp(253_402_300_800_000);

const WINDOWS = { nextIncomingId: 0, incomingWindow: 99, nextOutgoingId: 0, outgoingWindow: 99 };

/** Asks the management node of an entity, as clients of other languages do. */
class Asking {
  readonly raw: RawAmqp;
  #delivery = 0;
  #isReady = false;

  constructor(port: number, entity: string) {
    this.raw = RawAmqp.authenticated(port, 'RootManageSharedAccessKey', ROOT_KEY);
    const address = `${entity}/$management`;
    const links = [
      { name: 'asks', handle: 0, role: 'sender', source: 'me', target: address },
      { name: 'hears', handle: 1, role: 'receiver', source: address, target: 'answers' },
    ] as const;
    for (const { source, target, ...link } of links) {
      const [from, to] = [terminus(0x28n, source), terminus(0x29n, target)];
      this.raw.say({ kind: 'attach', ...link, source: from, target: to, initialDeliveryCount: 0 });
    }
    this.raw.say({ kind: 'flow', ...WINDOWS, handle: 1, deliveryCount: 0, linkCredit: 99 });
  }

  /** Waits until it may ask. */
  async ready(): Promise<void> {
    if (!this.#isReady) await this.raw.hear('flow');
    this.#isReady = true;
  }

  async ask(operation: string, body: AmqpValue, replyTo: AmqpValue = str('answers')) {
    await this.ready();
    const deliveryId = this.#delivery++;
    const payload = writeSections({
      properties: list([str(`r${deliveryId}`), NULL, NULL, NULL, replyTo]),
      applicationProperties: mapOf({ operation: str(`com.microsoft:${operation}`) }),
      body: [described(SECTION.value, body)],
    });
    const deliveryTag = Buffer.from([deliveryId]);
    this.raw.say({ kind: 'transfer', handle: 0, deliveryId, deliveryTag }, 0, payload);
    const heard = await this.raw.hear('transfer');
    const sections = readSections(heard.payload ?? new Uint8Array());
    const fields = fieldsOf(sections.applicationProperties);
    const [section] = sections.body;
    return {
      status: numberOf(fields.get('statusCode')),
      condition: textOf(fields.get('errorCondition')),
      body: fieldsOf(section?.type === 'described' ? section.value : undefined),
    };
  }
}

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
    const asking = new Asking(namespace.port, queue);
    const found: string[] = [];
    for (let skip = 0; ; ) {
      const page = mapOf({ 'last-updated-time': ALL_TIME, skip: int(skip), top: int(2) });
      const { status, body } = await asking.ask('get-message-sessions', page);
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
    const asking = new Asking(namespace.port, queue);
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
      const answer = await asking.ask(operation, body);
      assert.deepEqual([answer.status, answer.condition], [status, condition], operation);
    }
    const peek = await asking.ask('peek-message', mapOf({ 'message-count': int(1) }));
    assert.equal(peek.status, 204);
    asking.raw.destroy();
  });

  test('who names no link for the answer gets it on the one beside', async () => {
    const [queue, another] = [newName('asked'), newName('asked')];
    for (const name of [another, queue]) {
      await administrationOf(namespace.connectionString).createQueue(name);
      const asking = new Asking(namespace.port, name);
      const peek = await asking.ask('peek-message', mapOf({ 'message-count': int(1) }), NULL);
      assert.equal(peek.status, 204);
      asking.raw.destroy();
    }
  });

  test('a request that follows a settlement finds it carried out', async () => {
    const queue = newName('deferred');
    await administrationOf(namespace.connectionString).createQueue(queue);
    await client.createSender(queue).sendMessages({ body: 'later' });
    const asking = new Asking(namespace.port, queue);
    await asking.ready();
    const link = { name: 'receives', handle: 2, role: 'receiver' } as const;
    const [source, target] = [terminus(0x28n, queue), terminus(0x29n, 'me')];
    asking.raw.say({ kind: 'attach', ...link, source, target });
    asking.raw.say({ kind: 'flow', ...WINDOWS, handle: 2, deliveryCount: 0, linkCredit: 1 });
    const { deliveryId: first = 0 } = await asking.raw.hear('transfer');
    // Without a word of whether it went well, as the official Python client does.
    const state = { kind: 'modified', deliveryFailed: false, undeliverableHere: true } as const;
    const settling = { kind: 'disposition', role: 'receiver', first, settled: true } as const;
    asking.raw.say({ ...settling, state });
    const numbers = mapOf({ 'sequence-numbers': array('long', [long(1n)]) });
    const { status } = await asking.ask('receive-by-sequence-number', numbers);
    assert.equal(status, 200);
    asking.raw.destroy();
  });

  test('a peek may leave the bodies out', async () => {
    const queue = newName('peeked');
    await administrationOf(namespace.connectionString).createQueue(queue);
    await client.createSender(queue).sendMessages({ body: 'long', subject: 'short' });
    const asking = new Asking(namespace.port, queue);
    const { body } = await asking.ask(
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
