import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSections, SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { encode } from '../../../amqp/wire/encode.ts';
import {
  type AmqpValue,
  described,
  int,
  list,
  mapOf,
  str,
  symbol,
} from '../../../amqp/wire/value.ts';
import type { Broker, ReceivedMessage } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { GatewayFixture, turns } from '../../support/amqp-peer.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { lockedMessage, turnsUntil } from '../../support/fake-peer.ts';
import { fakeEntity, findableEntities } from '../../support/http-fixture.ts';
import { RawSession, sessionSource, sourceOf, targetOf } from '../../support/raw-session.ts';
import { startBroker } from '../../support/start-broker.ts';

/** Row 5: no message is accepted that cannot be received, or that would block others. */

const DEPTHS = Array.from({ length: 6 }, (_, i) => BUDGETS.value.depth - 4 + i);
const nested = (levels: number): AmqpValue => (levels === 0 ? int(1) : list([nested(levels - 1)]));
const noBody = { body: [described(SECTION.value, int(1))] };

const PLACES: readonly (readonly [string, (value: AmqpValue) => Buffer])[] = [
  ['a value', (value) => writeSections({ body: [described(SECTION.value, value)] })],
  ['a sequence', (value) => writeSections({ body: [described(SECTION.sequence, list([value]))] })],
  [
    'an annotation',
    (value) => writeSections({ ...noBody, annotations: mapOf({ x: value }, symbol) }),
  ],
  ['the footer', (value) => writeSections({ ...noBody, footer: mapOf({ x: value }, symbol) })],
];

for (const [place, message] of PLACES) {
  test(`row 5: ${place} of the maximum depth is received as sent, and a deeper one is refused`, async (t) => {
    const bus = await startBroker(t);
    await bus.createQueue('q');
    const session = RawSession.root(Number(new URL(bus.api.url).port));
    t.after(() => session.raw.destroy());
    const to = await session.sender(targetOf('q'));
    const accepted: string[] = [];
    for (const depth of DEPTHS) {
      const outcome = await session.send(to, message(nested(depth)));
      if (outcome?.kind === 'accepted') accepted.push(textOf(message(nested(depth))));
    }
    assert.ok(accepted.length > 0 && accepted.length < DEPTHS.length, `${accepted.length}`);
    const { handle } = await session.receiver(sourceOf('q'), { senderSettleMode: 1 });
    session.credit(handle, DEPTHS.length);
    for (const sent of accepted) {
      const said = await session.raw.hear('transfer', 'detach');
      assert.equal(said.kind === 'transfer' && textOf(said.payload), sent);
    }
  });
}

/** The encoded size of such values in a message. */
function textOf(payload: Uint8Array = new Uint8Array()): string {
  const { body, annotations, footer } = readSections(payload);
  const own = annotations?.type === 'map' ? annotations.value.filter(([key]) => isX(key)) : [];
  return [...body, ...own.map(([, value]) => value), ...(footer === undefined ? [] : [footer])]
    .map((value) => encode(value).toString('hex'))
    .join();
}

const isX = (key: AmqpValue) => key.type === 'symbol' && key.value === 'x';

test('row 5: a data section without binary is refused, and is not reported as a fault', async (t) => {
  const bus = await startBroker(t);
  await bus.createQueue('q');
  const session = RawSession.root(Number(new URL(bus.api.url).port));
  t.after(() => session.raw.destroy());
  const to = await session.sender(targetOf('q'));
  const outcome = await session.send(to, Buffer.of(0x00, 0x53, 0x75, 0x40));
  assert.equal(outcome?.kind, 'rejected');
  assert.equal(
    outcome?.kind === 'rejected' && outcome.error?.condition,
    'com.microsoft:argument-error',
  );
});

for (const mode of ['peek-lock', 'receive-and-delete'] as const) {
  test(`row 5: a message that cannot be encoded does not block others: ${mode}`, async (t) => {
    const fixture = new GatewayFixture(t);
    const [first, broken, last] = [1, 2, 3].map((number) => lockedMessage(number, 10));
    const unreadable = { ...broken, message: { ...broken?.message, amqp: Buffer.of(0xff) } };
    const found = [first, unreadable, last] as readonly ReceivedMessage[];
    const given: string[] = [];
    let received = 0;
    const broker: Partial<Broker> = {
      receive: async (_path, { signal }) => {
        if (received++ === 0) return mode === 'peek-lock' ? found : found.map(withoutLock);
        return await new Promise((resolve) => signal?.addEventListener('abort', () => resolve([])));
      },
      settle: async (_path, settlements) => {
        given.push(...settlements.map(({ lockToken }) => lockToken));
        return [];
      },
    };
    Object.assign(fixture.broker, broker);
    const peer = await fixture.peer('root');
    peer.attach(0, 'receiver', 'q');
    await turns();
    peer.credit(0);
    const back = mode === 'peek-lock' ? [broken?.lockToken] : [];
    // It is returned a turn after the others were sent.
    const isGivenBack = () => received === 2 && given.length === back.length;
    await turnsUntil(() => peer.said('transfer').length === 2 && isGivenBack());
    assert.equal(peer.said('transfer').length, 2);
    assert.equal(peer.said('detach').length, 0);
    assert.equal(fixture.faults.length, 1);
    assert.deepEqual(given, back);
    peer.lost();
  });
}

test('row 5: in a session, a message that cannot be encoded ends its link, so that none overtakes it', async (t) => {
  const [broken, last] = [1, 2].map((number) => lockedMessage(number, 10));
  const unreadable = { ...broken, message: { ...broken?.message, amqp: Buffer.of(0xff) } };
  const held = { sessionId: 'a', lockToken: last?.lockToken ?? '', lockedUntil: FAKE_NOW + 60_000 };
  const { connect, faults } = await startFakeGateway(t, {
    entities: findableEntities({
      s: fakeEntity('s', { ...QUEUE_DEFAULTS, requiresSession: true }),
    }),
    calls: {
      acceptSession: async () => held,
      receive: async () => [unreadable, last] as readonly ReceivedMessage[],
    },
  });
  const session = connect();
  const { handle } = await session.receiver(sessionSource('s', str(held.sessionId)));
  session.credit(handle, 10);
  const { error } = await session.raw.hear('detach');
  assert.equal(error?.condition, 'amqp:internal-error');
  assert.equal(faults.length, 1);
});

function withoutLock(message: ReceivedMessage): ReceivedMessage {
  const { message: sent, sequenceNumber, enqueuedAt, state, failedDeliveries } = message;
  return { message: sent, sequenceNumber, enqueuedAt, state, failedDeliveries };
}
