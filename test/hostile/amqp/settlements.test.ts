import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AmqpValue, str } from '../../../amqp/wire/value.ts';
import type { SettlementAction } from '../../../shared/broker/broker.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { rule } from '../../support/http-fixture.ts';
import { dataOf, sourceOf } from '../../support/raw-session.ts';

const { deliveryBytes, valueBytes } = BUDGETS.weights;
const DELIVERIES = 50;
const PROPERTIES = 200;
const message = (text: string) => ({
  message: { messageId: text, body: Buffer.from(text), properties: {} },
});

test('row 8: an outcome of many deliveries is decoded once, and counts until all are settled', async (t) => {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let settle = () => {};
  const settling = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const actions = new Set<SettlementAction>();
  const fixture = await startFakeGateway(t, {
    calls: {
      settle: async (_path, settlements) => {
        for (const { action } of settlements) actions.add(action);
        settle();
        await answered;
        return settlements.map(({ lockToken }) => ({ lockToken }));
      },
    },
  });
  const { connect, broker, dependencies } = fixture;
  for (let i = 0; i < DELIVERIES; i++) broker.put('q', message(`m${i}`));
  const session = connect();
  const { handle } = await session.receiver(sourceOf('q'));
  const empty = dependencies.memory.held;
  session.credit(handle, DELIVERIES);
  for (let i = 0; i < DELIVERIES; i++) await session.raw.hear('transfer');
  assert.equal(dependencies.memory.held - empty, DELIVERIES * deliveryBytes);
  const annotations: AmqpValue = {
    type: 'map',
    value: Array.from({ length: PROPERTIES }, (_, i) => [str(`k${i}`), str('v')]),
  };
  const state = { kind: 'modified', annotations } as const;
  const range = { role: 'receiver', first: 0, last: DELIVERIES - 1, settled: false } as const;
  session.raw.say({ kind: 'disposition', ...range, state });
  await settling;
  assert.equal(actions.size, 1);
  const held = dependencies.memory.held - empty;
  assert.ok(held > DELIVERIES * deliveryBytes + 2 * PROPERTIES * valueBytes, `${held} are held`);
  answer();
  const said = await session.raw.hear('disposition');
  assert.deepEqual([said.first, said.last], [0, DELIVERIES - 1]);
  // The answer does not repeat the peer's annotations.
  assert.ok(said.state?.kind === 'modified' && said.state.annotations === undefined);
  assert.equal(dependencies.memory.held, empty);
});

test('row 12: a message is not settled after the right to receive was revoked', async (t) => {
  let keys = [rule('root', 'Manage', 'Send', 'Listen')];
  const { connect, broker } = await startFakeGateway(t, {
    namespaceKeys: { rules: async () => keys },
  });
  broker.put('q', message('one'));
  const session = connect();
  const delivery = await session.lockOne('q');
  keys = [{ ...rule('root', 'Manage', 'Send', 'Listen'), primaryKey: 'a', secondaryKey: 'b' }];
  const { state } = await session.settle(delivery, { kind: 'accepted' });
  assert.ok(state?.kind === 'rejected');
  assert.equal(state.error?.condition, 'amqp:unauthorized-access');
  assert.deepEqual(broker.settled, []);
});

test('row 21: a receiver whose rule is at its rate limit waits, and then continues', async (t) => {
  let refusals = 0;
  const { connect, broker } = await startFakeGateway(t, {
    countOperation: () => {
      // The first operation is the attach of the link.
      if (refusals++ % 4 > 0) throw new BrokerError('ServiceBusy', 'The rule does too much.');
    },
  });
  broker.put('q', message('one'));
  const session = connect();
  const { handle } = await session.receiver(sourceOf('q'));
  session.credit(handle, 1);
  const said = await session.raw.hear('transfer', 'detach');
  assert.equal(said.kind, 'transfer');
  assert.equal(said.kind === 'transfer' && dataOf(said.payload), 'one');
  assert.ok(refusals > 4);
});
