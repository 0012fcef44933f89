import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { guidBytes } from '../../../amqp/messages/property-values.ts';
import { readSections } from '../../../amqp/messages/sections.ts';
import type { Attach } from '../../../amqp/wire/performatives.ts';
import {
  type AmqpValue,
  array,
  bigintOf,
  elementsOf,
  fieldsOf,
  long,
  mapOf,
  NULL,
  str,
  symbol,
  uint,
  uuid,
} from '../../../amqp/wire/value.ts';
import {
  dataOf,
  RawSession,
  sessionSource,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

/** The descriptor of the Go client's session filter. */
const FILTER_CODE = 0x0000_0137_0000_00cn;
const filterOf = (value: AmqpValue): AmqpValue => ({
  type: 'described',
  descriptor: { type: 'ulong', value: FILTER_CODE },
  value,
});

/** The session filter in an attach of ours. */
function filterIn({ source }: Attach): AmqpValue | undefined {
  const fields = source?.type === 'described' ? elementsOf(source.value) : [];
  return fieldsOf(fields[7]).get('com.microsoft:session-filter');
}

describe('frames of the Go client', () => {
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

  /** A queue with sessions and the messages of one. */
  const start = async (...messages: readonly string[]) => {
    const queue = newName('go');
    const admin = administrationOf(namespace.connectionString);
    await admin.createQueue(queue, { requiresSession: true });
    const sender = client.createSender(queue);
    for (const body of messages) {
      await sender.sendMessages({ body: Buffer.from(body), sessionId: 'A' });
    }
    return { queue, session: RawSession.root(namespace.port) };
  };

  test('a described session filter is answered with a described one', async () => {
    const { queue, session } = await start('hello');
    const attach = await session.receiver(sessionSource(queue, filterOf(NULL)));
    assert.deepEqual(filterIn(attach), filterOf(str('A')));
    session.raw.destroy();
  });

  test('a drain after a lost session lock is answered, and then the link is detached with the error', async () => {
    const { queue, session } = await start();
    const { handle } = await session.receiver(sessionSource(queue, filterOf(str('A'))));
    const admin = administrationOf(namespace.connectionString);
    // All locks expire.
    await admin.updateQueue({ ...(await admin.getQueue(queue)), lockDuration: 'PT2M' });
    const windows = { incomingWindow: 100, nextOutgoingId: 0, outgoingWindow: 100 };
    const drain = { handle, deliveryCount: 0, linkCredit: 1, drain: true };
    session.raw.say({ kind: 'flow', nextIncomingId: 0, ...windows, ...drain });
    const { linkCredit } = await session.raw.hear('flow');
    assert.equal(linkCredit, 0);
    const { error } = await session.raw.hear('detach');
    assert.equal(error?.condition, 'com.microsoft:session-lock-lost');
    session.raw.destroy();
  });

  test('a filter that is not in force is not returned', async () => {
    const queue = newName('go');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const session = RawSession.root(namespace.port);
    const filters = mapOf({ 'apache.org:selector-filter:string': str("colour = 'red'") }, symbol);
    const asked = sourceOf(queue, ...Array<AmqpValue>(6).fill(NULL), filters);
    const { source } = await session.receiver(asked);
    const fields = source?.type === 'described' ? elementsOf(source.value) : [];
    assert.deepEqual([fields[0], fields[7]], [str(queue), NULL]);
    session.raw.destroy();
  });

  test('the attach of a refused link has neither source nor target', async () => {
    const { queue, session } = await start();
    const held = await session.receiver(sessionSource(queue, filterOf(str('A'))));
    assert.deepEqual(filterIn(held), filterOf(str('A')));
    const refusals = [
      [
        'receiver',
        sessionSource(queue, filterOf(str('A'))),
        'com.microsoft:session-cannot-be-locked',
      ],
      ['receiver', sourceOf('missing'), 'amqp:not-found'],
      ['sender', targetOf('missing'), 'amqp:not-found'],
    ] as const;
    for (const [role, wanted, condition] of refusals) {
      const other = targetOf('here');
      const termini = role === 'sender' ? ([other, wanted] as const) : ([wanted, other] as const);
      const { source, target } = await session.attach(role, termini);
      assert.deepEqual([source, target], [undefined, undefined]);
      assert.equal((await session.raw.hear('detach')).error?.condition, condition);
    }
    session.raw.destroy();
  });

  test('deferred messages of a session are received by the name of the link that holds it', async () => {
    const { queue, session } = await start('one', 'two');
    const { handle, name } = await session.receiver(sessionSource(queue, filterOf(str('A'))));
    session.credit(handle, 2);
    const numbers: AmqpValue[] = [];
    const locked: number[] = [];
    for (const body of ['one', 'two']) {
      const { deliveryId = -1, payload = new Uint8Array() } = await session.raw.hear('transfer');
      assert.equal(dataOf(payload), body);
      const annotations = fieldsOf(readSections(payload).annotations);
      numbers.push(long(bigintOf(annotations.get('x-opt-sequence-number')) ?? -1n));
      locked.push(deliveryId);
    }
    for (const id of locked)
      await session.settle(id, { kind: 'modified', undeliverableHere: true });
    const request = mapOf({
      'sequence-numbers': array('long', numbers),
      'receiver-settle-mode': uint(1),
    });
    const alone = await session.ask(queue, 'receive-by-sequence-number', request);
    assert.deepEqual([alone.status, alone.condition], [400, 'amqp:not-allowed']);
    const fields = { 'associated-link-name': str(name) };
    const { status, body } = await session.ask(queue, 'receive-by-sequence-number', request, {
      fields,
    });
    assert.equal(status, 200);
    const entries = elementsOf(body.get('messages')).map(fieldsOf);
    assert.equal(entries.length, 2);
    for (const entry of entries) {
      const bytes = entry.get('message');
      assert.ok(bytes?.type === 'binary');
      // This client reads the lock token from the message and not from the reply's field.
      const token = fieldsOf(readSections(bytes.value).deliveryAnnotations).get('x-opt-lock-token');
      assert.ok(token?.type === 'uuid');
      const settled = mapOf({
        'disposition-status': str('completed'),
        'lock-tokens': array('uuid', [token]),
      });
      assert.equal(
        (await session.ask(queue, 'update-disposition', settled, { fields })).status,
        200,
      );
    }
    const gone = await session.ask(queue, 'receive-by-sequence-number', request, { fields });
    assert.deepEqual([gone.status, gone.condition], [404, 'com.microsoft:message-not-found']);
    session.raw.destroy();
  });

  test('messages that a client releases can be received by others', async () => {
    const queue = newName('go');
    await administrationOf(namespace.connectionString).createQueue(queue);
    await client.createSender(queue).sendMessages({ body: 'late' });
    const session = RawSession.root(namespace.port);
    const locked = await session.lockOne(queue);
    const answer = await session.settle(locked, { kind: 'released' });
    assert.deepEqual([answer.settled, answer.state], [true, { kind: 'released' }]);
    const [message] = await client.createReceiver(queue).receiveMessages(1);
    assert.equal(message?.body, 'late');
    session.raw.destroy();
  });

  test('an unknown lock token is a lost lock', async () => {
    const queue = newName('go');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const session = RawSession.root(namespace.port);
    const token = uuid(guidBytes('11223344-5566-7788-99aa-bbccddeeff00'));
    const tokens = { 'lock-tokens': array('uuid', [token]) };
    const settled = mapOf({ ...tokens, 'disposition-status': str('completed') });
    for (const [operation, body] of [
      ['update-disposition', settled],
      ['renew-lock', mapOf(tokens)],
    ] as const) {
      const { status, condition } = await session.ask(queue, operation, body);
      assert.deepEqual([status, condition], [410, 'com.microsoft:message-lock-lost'], operation);
    }
    session.raw.destroy();
  });
});
