import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import {
  type AmqpValue,
  array,
  binary,
  bool,
  described,
  mapOf,
  str,
  uuid,
} from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { rule } from '../../support/http-fixture.ts';
import {
  accepting,
  COORDINATOR,
  dataMessage,
  inTransaction,
  sourceOf,
  targetOf,
} from '../../support/raw-session.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const { deliveryBytes, valueBytes } = BUDGETS.weights;
const conditionOf = (state: DeliveryState | undefined) =>
  state?.kind === 'rejected' ? state.error?.condition : undefined;

/** Properties of a few bytes each. */
const properties = (count: number): AmqpValue => ({
  type: 'map',
  value: Array.from({ length: count }, (_, i) => [str(i.toString(36)), bool(true)]),
});
const disposition = (count: number, id: number) =>
  mapOf({
    'disposition-status': str('abandoned'),
    'lock-tokens': array('uuid', [uuid(Buffer.alloc(16, id))]),
    'properties-to-modify': properties(count),
  });
const messageWith = (count: number) =>
  writeSections({
    applicationProperties: properties(count),
    body: [described(SECTION.data, binary(Buffer.from('x')))],
  });

type Fixture = Awaited<ReturnType<typeof startFakeGateway>>;

async function declared({ connect, dependencies }: Fixture) {
  const session = connect();
  const coordinator = await session.sender(COORDINATOR);
  const empty = dependencies.memory.held;
  const id = await session.declare(coordinator);
  const held = () => dependencies.memory.held - empty;
  return { session, coordinator, id, state: inTransaction(id), held };
}

test('row 6: requests that settle in a transaction count with their decoded size', async (t) => {
  const { session, state, held } = await declared(await startFakeGateway(t));
  await session.ask('q', 'peek-message', mapOf({}));
  const before = held();
  for (let id = 0; id < 3; id++) {
    const { status } = await session.ask('q', 'update-disposition', disposition(900, id), {
      state,
    });
    assert.equal(status, 200);
  }
  assert.ok(held() - before > 3 * 900 * 2 * valueBytes, `${held() - before} bytes are counted`);
});

test('row 6: an invalid settlement is refused before it is held', async (t) => {
  const { session, state, held } = await declared(await startFakeGateway(t));
  await session.ask('q', 'peek-message', mapOf({}));
  const before = held();
  const answer = await session.ask('q', 'update-disposition', disposition(24_000, 1), { state });
  assert.deepEqual([answer.status, answer.condition], [400, 'com.microsoft:argument-error']);
  assert.equal(held(), before);
});

test('row 6: a transaction settles a delivery only once', async (t) => {
  const fixture = await startFakeGateway(t);
  fixture.broker.put('q', { message: { messageId: 'm', body: Buffer.from('x'), properties: {} } });
  const { session, id, held } = await declared(fixture);
  const delivery = await session.lockOne('q');
  const outcome = { kind: 'modified', annotations: properties(100) } as const;
  const modified = { kind: 'transactional', transaction: id, outcome } as const;
  assert.equal((await session.settle(delivery, modified)).state?.kind, 'transactional');
  const once = held();
  for (let i = 0; i < 5; i++) {
    const again = await session.settle(delivery, modified);
    assert.equal(conditionOf(again.state), 'amqp:not-allowed');
  }
  assert.equal(held(), once);
});

test('row 6: messages of a transaction count with their decoded size', async (t) => {
  const { session, state, held } = await declared(await startFakeGateway(t));
  const sender = await session.sender(targetOf('q'));
  const before = held();
  const outcome = await session.send(sender, messageWith(10_000), { state });
  assert.equal(outcome?.kind, 'transactional');
  assert.ok(held() - before > 10_000 * 2 * valueBytes, `${held() - before} bytes are counted`);
});

test('row 6: a message with too many properties is refused before it is held', async (t) => {
  const { session, state, held } = await declared(await startFakeGateway(t));
  const sender = await session.sender(targetOf('q'));
  const before = held();
  const outcome = await session.send(sender, messageWith(32_000), { state });
  assert.equal(conditionOf(outcome), 'com.microsoft:argument-error');
  assert.ok(held() - before < 4 * deliveryBytes);
});

test('row 6: an expired transaction releases its memory when a client uses it', async (t) => {
  const scheduler = new VirtualTime();
  const fixture = await startFakeGateway(t, { scheduler });
  const { session, coordinator, id, state, held } = await declared(fixture);
  const sender = await session.sender(targetOf('q'));
  const before = held();
  await session.send(sender, dataMessage('x'.repeat(50_000)), { state });
  assert.ok(held() - before >= 50_000);
  scheduler.skip(2 * 60_000 + 1);
  const outcome = await session.discharge(coordinator, id, false);
  assert.equal(conditionOf(outcome), 'amqp:transaction:unknown-id');
  assert.ok(held() - before < 4 * deliveryBytes, `${held() - before} bytes are held`);
});

test('row 12: a transaction is not committed after the right to its operations was revoked', async (t) => {
  let keys = [rule('root', 'Manage', 'Send', 'Listen')];
  const fixture = await startFakeGateway(t, { namespaceKeys: { rules: async () => keys } });
  fixture.broker.put('q', { message: { messageId: 'm', body: Buffer.from('x'), properties: {} } });
  const { session, coordinator, id } = await declared(fixture);
  const { handle } = await session.receiver(sourceOf('q'));
  session.credit(handle, 1);
  const { deliveryId = -1 } = await session.raw.hear('transfer');
  await session.settle(deliveryId, accepting(id));
  keys = [{ ...rule('root', 'Manage', 'Send', 'Listen'), primaryKey: 'a', secondaryKey: 'b' }];
  const outcome = await session.discharge(coordinator, id, false);
  assert.equal(conditionOf(outcome), 'amqp:unauthorized-access');
  assert.ok(!fixture.broker.calls.some(([call]) => call === 'transact'));
});
