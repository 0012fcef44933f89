import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceBusClient } from '@azure/service-bus';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import {
  array,
  binary,
  described,
  list,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
} from '../../../amqp/wire/value.ts';
import {
  accepting,
  COORDINATOR,
  discharging,
  inTransaction,
  dataMessage as message,
  RawSession,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';

const ACCEPTED = { kind: 'accepted' };
const NO_MESSAGE = Buffer.of(0xff);

/** The error condition of a rejected delivery. */
function conditionOf(state: Awaited<ReturnType<RawSession['send']>>): string | undefined {
  return state?.kind === 'rejected' ? state.error?.condition : undefined;
}

/** Qpid Proton sends the transfers of a transaction and its discharge without waiting in between. */
describe('transactions that Qpid Proton pipelines', () => {
  let namespace: TestNamespace;
  before(async () => {
    namespace = await startNamespace();
  });
  after(() => namespace.stop());

  const start = async () => {
    const queue = newName('pipelined');
    await administrationOf(namespace.connectionString).createQueue(queue);
    const session = RawSession.root(namespace.port);
    const coordinator = await session.sender(COORDINATOR);
    const content = async () => {
      const looking = new ServiceBusClient(namespace.connectionString);
      const found = await looking.createReceiver(queue).peekMessages(20);
      await looking.close();
      return found.map(({ body }) => String(body));
    };
    return { queue, session, coordinator, content };
  };

  test('messages sent before the discharge are committed', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const a = session.sendAhead(sender, message('a'), { state: inTransaction(id) });
    const b = session.sendAhead(sender, message('b'), { state: inTransaction(id) });
    const commit = session.sendAhead(coordinator, discharging(id));
    const states = await session.outcomes(a, b, commit);
    assert.deepEqual(states, [accepting(id), accepting(id), ACCEPTED]);
    assert.deepEqual(await content(), ['a', 'b']);
    session.raw.destroy();
  });

  test('the links may belong to several AMQP sessions of the connection', async () => {
    const { queue, session, coordinator, content } = await start();
    session.raw.begin(1);
    const other = new RawSession(session.raw, 1);
    const sender = await other.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    other.sendAhead(sender, message('a'), { state: inTransaction(id), settled: true });
    assert.deepEqual(await session.discharge(coordinator, id, false), ACCEPTED);
    assert.deepEqual(await content(), ['a']);
    session.raw.destroy();
  });

  test('messages sent before a rollback are dropped', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const a = session.sendAhead(sender, message('a'), { state: inTransaction(id) });
    const rollback = session.sendAhead(coordinator, discharging(id, true));
    assert.deepEqual(await session.outcomes(a, rollback), [accepting(id), ACCEPTED]);
    assert.deepEqual(await content(), []);
    session.raw.destroy();
  });

  test('messages sent after the discharge do not belong to the transaction', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const a = session.sendAhead(sender, message('a'), { state: inTransaction(id) });
    const commit = session.sendAhead(coordinator, discharging(id));
    const late = session.sendAhead(sender, message('late'), { state: inTransaction(id) });
    const [before, committed, refused] = await session.outcomes(a, commit, late);
    assert.deepEqual([before, committed], [accepting(id), ACCEPTED]);
    assert.equal(conditionOf(refused), 'amqp:transaction:unknown-id');
    assert.deepEqual(await content(), ['a']);
    session.raw.destroy();
  });

  test('if a transfer is refused the discharge rolls the transaction back', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const a = session.sendAhead(sender, message('a'), { state: inTransaction(id) });
    const bad = session.sendAhead(sender, NO_MESSAGE, { state: inTransaction(id) });
    const commit = session.sendAhead(coordinator, discharging(id));
    const [good, refused, discharged] = await session.outcomes(a, bad, commit);
    assert.deepEqual(good, accepting(id));
    assert.notEqual(conditionOf(refused), undefined);
    assert.equal(conditionOf(discharged), 'amqp:transaction:rollback');
    assert.deepEqual(await content(), []);
    session.raw.destroy();
  });

  test('if a settlement is refused the discharge rolls the transaction back', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    await session.send(sender, message('order'));
    const locked = await session.lockOne(queue);
    const id = await session.declare(coordinator);
    session.sendAhead(sender, message('answer'), { state: inTransaction(id), settled: true });
    await session.settle(locked, accepting(id));
    // A transaction settles a message only once.
    const rejected = { kind: 'transactional', transaction: id, outcome: { kind: 'released' } };
    await session.settle(locked, rejected as DeliveryState);
    const discharged = await session.discharge(coordinator, id, false);
    assert.equal(conditionOf(discharged), 'amqp:transaction:rollback');
    assert.deepEqual(await content(), ['order']);
    session.raw.destroy();
  });

  test('an outcome that is repeated when the delivery is settled changes nothing', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue));
    await session.send(sender, message('order'));
    const locked = await session.lockOne(queue);
    const id = await session.declare(coordinator);
    await session.settle(locked, accepting(id));
    await session.settle(locked, accepting(id), true);
    assert.deepEqual(await session.discharge(coordinator, id, false), ACCEPTED);
    assert.deepEqual(await content(), []);
    session.raw.destroy();
  });

  test('if a transfer comes on a link that has ended the discharge rolls the transaction back', async () => {
    const { queue, session, coordinator, content } = await start();
    const sender = await session.sender(targetOf(queue), { name: 'same' });
    const id = await session.declare(coordinator);
    // Another link steals the name while the client still sends on the first one.
    const again = { kind: 'attach', name: 'same', handle: 77, role: 'sender' } as const;
    const ends = { source: sourceOf('here'), target: targetOf(queue), initialDeliveryCount: 0 };
    session.raw.say({ ...again, ...ends });
    session.sendAhead(sender, message('a'), { state: inTransaction(id), settled: true });
    const discharged = await session.discharge(coordinator, id, false);
    assert.equal(conditionOf(discharged), 'amqp:transaction:rollback');
    assert.deepEqual(await content(), []);
    session.raw.destroy();
  });

  const scheduled = (at: number) => {
    const bytes = writeSections({
      annotations: mapOf({ 'x-opt-scheduled-enqueue-time': timestamp(at) }, symbol),
      properties: list([str('m')]),
      body: [described(SECTION.data, binary(Buffer.from('later')))],
    });
    const entry = mapOf({ 'message-id': str('m'), message: binary(bytes) });
    return mapOf({ messages: list([entry]) });
  };
  const request = (operation: string, body: ReturnType<typeof mapOf>) =>
    writeSections({
      properties: list([str('r'), NULL, NULL, NULL, str('answers')]),
      applicationProperties: mapOf({ operation: str(`com.microsoft:${operation}`) }),
      body: [described(SECTION.value, body)],
    });
  const startAsking = async () => {
    const started = await start();
    const { queue, session } = started;
    const asking = await session.sender(targetOf(`${queue}/$management`));
    const answers = [sourceOf(`${queue}/$management`), targetOf('answers')] as const;
    const { handle } = await session.attach('receiver', answers, { senderSettleMode: 1 });
    session.credit(handle, 10);
    return { ...started, asking };
  };

  test('requests sent before the discharge are committed', async () => {
    const { session, coordinator, asking, content } = await startAsking();
    const id = await session.declare(coordinator);
    const body = scheduled(Date.now() + 3_600_000);
    const ahead = { state: inTransaction(id), settled: true };
    session.sendAhead(asking, request('schedule-message', body), ahead);
    assert.deepEqual(await session.discharge(coordinator, id, false), ACCEPTED);
    assert.deepEqual(await content(), ['later']);
    session.raw.destroy();
  });

  test('if a request is refused the discharge rolls the transaction back', async () => {
    const { queue, session, coordinator, asking, content } = await startAsking();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const ahead = { state: inTransaction(id), settled: true };
    session.sendAhead(sender, message('a'), ahead);
    const body = mapOf({ messages: list([mapOf({})]) });
    session.sendAhead(asking, request('schedule-message', body), ahead);
    const discharged = await session.discharge(coordinator, id, false);
    assert.equal(conditionOf(discharged), 'amqp:transaction:rollback');
    assert.deepEqual(await content(), []);
    session.raw.destroy();
  });

  test('if a request that only reads is refused the transaction can be committed', async () => {
    const { queue, session, coordinator, asking, content } = await startAsking();
    const sender = await session.sender(targetOf(queue));
    const id = await session.declare(coordinator);
    const ahead = { state: inTransaction(id), settled: true };
    session.sendAhead(sender, message('a'), ahead);
    const body = mapOf({ 'lock-tokens': array('uuid', []) });
    session.sendAhead(asking, request('renew-lock', body), ahead);
    const { payload = NO_MESSAGE } = await session.raw.hear('transfer');
    assert.notEqual(readSections(payload).applicationProperties, undefined);
    assert.deepEqual(await session.discharge(coordinator, id, false), ACCEPTED);
    assert.deepEqual(await content(), ['a']);
    session.raw.destroy();
  });
});
