import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { SECTION, writeSections } from '../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../amqp/wire/states.ts';
import {
  type AmqpValue,
  array,
  binary,
  described,
  list,
  mapOf,
  NULL,
  str,
  symbol,
} from '../../amqp/wire/value.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { sending, transact } from '../spec/transactions/transaction.ts';
import { COORDINATOR, inTransaction, RawSession, targetOf } from '../support/raw-session.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { createSubscription, createTopic, subscription } from '../support/topic-entities.ts';

/** Row 19: instants and durations beyond the years 1 to 9999. */

const SENTENCE = /ScheduledEnqueueTimeUtc must be an instant of the years 1 to 9999/;
const ARGUMENT = 'com.microsoft:argument-error';
const LAST = BigInt(LIMITS.instantMax);
const FIRST = BigInt(LIMITS.instantMin);
/** Outside these years; the first two once caused an internal error, or were omitted. */
const BEYOND = [2n ** 53n - 1n, 2n ** 63n - 1n, LAST + 1n, FIRST - 1n, -(2n ** 63n)];

const at = (value: bigint): AmqpValue => ({ type: 'timestamp', value });

const scheduled = (time: AmqpValue) =>
  writeSections({
    annotations: mapOf({ 'x-opt-scheduled-enqueue-time': time }, symbol),
    body: [described(SECTION.data, binary(Buffer.from('m')))],
  });

async function start(t: TestContext): Promise<{ broker: TestBroker; session: RawSession }> {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const session = RawSession.root(Number(new URL(broker.api.url).port));
  t.after(() => session.raw.destroy());
  return { broker, session };
}

const refusalOf = (state: DeliveryState | undefined) =>
  state?.kind === 'rejected' ? state.error : undefined;

test('row 19: over HTTP scheduling a message outside the years 1 to 9999 is refused', async (t) => {
  const { broker } = await start(t);
  for (const ScheduledEnqueueTimeUtc of ['9999-12-31T23:59:59-14:00', '0000-06-01T00:00:00Z']) {
    const message = { Body: 'm', BrokerProperties: { ScheduledEnqueueTimeUtc } };
    const answers = {
      'a message': await broker.send('q', 'm', message.BrokerProperties),
      'a batch': await broker.sendBatch('q', [{ Body: 'other' }, message]),
      scheduling: await broker.post('q', '$schedule', [message]),
      'a transaction': await transact(broker, [sending('q', message)]),
    };
    for (const [how, { status, text }] of Object.entries(answers)) {
      assert.equal(status, 400, how);
      assert.match(text, SENTENCE, how);
    }
  }
  assert.deepEqual(await broker.peek('q'), []);
});

test('row 19: over AMQP scheduling a message outside the years 1 to 9999 is refused', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  for (const value of BEYOND) {
    for (const time of [at(value), { type: 'long', value } as const]) {
      const refused = refusalOf(await session.send(sender, scheduled(time)));
      assert.equal(refused?.condition, ARGUMENT, String(value));
      assert.match(refused.description ?? '', SENTENCE);
    }
    const batch = writeSections({ body: [described(SECTION.data, binary(scheduled(at(value))))] });
    const inBatch = await session.send(sender, batch, { messageFormat: 0x80013700 });
    assert.equal(refusalOf(inBatch)?.condition, ARGUMENT);
    const messages = array('map', [mapOf({ message: binary(scheduled(at(value))) })]);
    const { status, condition } = await session.ask('q', 'schedule-message', mapOf({ messages }));
    assert.deepEqual([status, condition], [400, ARGUMENT]);
  }
  assert.deepEqual(await broker.peek('q'), []);
});

test('row 19: a transaction over AMQP that schedules outside these years is rolled back', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const coordinator = await session.sender(COORDINATOR);
  const transaction = await session.declare(coordinator);
  await session.send(sender, scheduled(at(LAST + 1n)), { state: inTransaction(transaction) });
  const discharged = refusalOf(await session.discharge(coordinator, transaction, false));
  assert.match(discharged?.description ?? '', SENTENCE);
  assert.deepEqual(await broker.peek('q'), []);
});

test('row 19: a message can be scheduled for the last instant; one for the first is active at once', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  for (const value of [LAST, FIRST]) {
    assert.equal((await session.send(sender, scheduled(at(value))))?.kind, 'accepted');
  }
  const shown = await broker.peek('q');
  assert.deepEqual(
    shown.map(({ broker: { State, ScheduledEnqueueTimeUtc } }) => [State, ScheduledEnqueueTimeUtc]),
    [
      ['Scheduled', 'Fri, 31 Dec 9999 23:59:59 GMT'],
      ['Active', 'Mon, 01 Jan 0001 00:00:00 GMT'],
    ],
  );
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});

const EDGES = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n, LAST, FIRST].flatMap(
  (edge) => [edge - 1n, edge, -edge],
);
const inLong = (value: bigint) => BigInt.asIntN(64, value);
const anyLong = fc.oneof(
  fc.constantFrom(...EDGES.map(inLong)),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
);
const anyTime: fc.Arbitrary<AmqpValue> = fc.oneof(
  fc.constant(NULL),
  anyLong.map(at),
  anyLong.map((value): AmqpValue => ({ type: 'long', value })),
  anyLong.map((value): AmqpValue => ({ type: 'ulong', value: BigInt.asUintN(64, value) })),
  fc.nat().map((value): AmqpValue => ({ type: 'uint', value })),
  fc.double().map((value): AmqpValue => ({ type: 'double', value })),
  fc.constant(str('tomorrow')),
);

const mostlyNone = fc.oneof(
  { weight: 3, arbitrary: fc.constant(NULL) },
  { weight: 1, arbitrary: anyTime },
);

test('row 19: a message with any times is accepted and can be shown, or is refused as invalid', async (t) => {
  const { broker, session } = await start(t);
  const sender = await session.sender(targetOf('q'));
  const times = fc.record({ due: mostlyNone, life: anyTime, created: anyTime, ends: anyTime });
  await fc.assert(
    fc.asyncProperty(times, async ({ due, life, created, ends }) => {
      const payload = writeSections({
        header: list([NULL, NULL, life]),
        properties: list([...Array<AmqpValue>(8).fill(NULL), ends, created]),
        annotations: mapOf({ 'x-opt-scheduled-enqueue-time': due }, symbol),
        body: [described(SECTION.data, binary(Buffer.from('m')))],
      });
      const state = await session.send(sender, payload);
      if (state?.kind !== 'accepted') {
        assert.equal(refusalOf(state)?.condition, ARGUMENT);
        return;
      }
      const shown = await broker.request('GET', 'q/messages');
      expectStatus(shown, 200);
      assert.doesNotMatch(shown.text, /Invalid Date|[A-Z][a-z]{2} -?\d{5,} /);
      const peeked = await session.ask(
        'q',
        'peek-message',
        mapOf({
          'from-sequence-number': { type: 'long', value: 0n },
          'message-count': { type: 'int', value: 10 },
        }),
      );
      assert.ok([200, 204].includes(peeked.status ?? 0));
      await broker.purge('q');
    }),
    { numRuns: 60 },
  );
});

test('row 19: a time to live beyond the year 9999 is accepted over HTTP, and shown to end there', async (t) => {
  const { broker } = await start(t);
  const end = 'Fri, 31 Dec 9999 23:59:59 GMT';
  for (const [life, expected] of [
    [{ TimeToLive: 1e308 }, undefined],
    [{ TimeToLive: 900_000_000_000 }, end],
    [{ TimeToLive: 1e-9 }, 'Thu, 01 Jan 2026 00:00:00 GMT'],
    [{ TimeToLiveTimeSpan: '10675199.02:48:05.4775807' }, undefined],
    [{ TimeToLiveTimeSpan: '9999999.00:00:00' }, end],
  ] as const) {
    const said = JSON.stringify(life);
    expectStatus(await broker.send('q', 'm', life), 201);
    const [received] = await broker.peekLockMany('q', 1);
    assert.ok(received, said);
    assert.equal(received.broker['ExpiresAtUtc'], expected, said);
    await broker.purge('q');
  }
});

test('row 19: a rule with an instant outside these years can be shown', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  await createSubscription(broker, subscription('s'));
  const session = RawSession.root(Number(new URL(broker.api.url).port));
  t.after(() => session.raw.destroy());
  const filter = mapOf({ properties: mapOf({ when: at(2n ** 53n - 1n) }) });
  const description = mapOf({ 'correlation-filter': filter, 'rule-name': str('r') });
  const added = await session.ask(
    subscription('s'),
    'add-rule',
    mapOf({ 'rule-name': str('r'), 'rule-description': description }),
  );
  assert.equal(added.status, 200);
  const shown = await broker.request('GET', `${subscription('s')}/rules/r`);
  expectStatus(shown, 200);
  assert.match(shown.text, />9007199254740991</);
});
