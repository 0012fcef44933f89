import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDelivery } from '../../../amqp/messages/read-message.ts';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  described,
  int,
  list,
  long,
  mapOf,
  NULL,
  str,
} from '../../../amqp/wire/value.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { FakePeer, fakeGateway, lockedMessage, turnsUntil } from '../../support/fake-peer.ts';

const COUNT = 10;
/** Far more messages than one turn encodes. */
const VALUES = 200_000;

/** Counts the requested turns. */
class CountedTurns extends WorkTurns {
  count = 0;
  override async next(): Promise<void> {
    this.count++;
    await super.next();
  }
}

/** Messages of many AMQP values. */
function heavyMessages(): readonly LockedMessage[] {
  const empty = list([]);
  const body = [described(SECTION.sequence, list(Array<AmqpValue>(VALUES).fill(empty)))];
  const [message] = readDelivery(writeSections({ body }), 0);
  return Array.from({ length: COUNT }, (_, i) => {
    const { message: light, ...stored } = lockedMessage(i + 1, 0);
    return { ...stored, state: 'Deferred', message: { ...light, ...message } };
  });
}

/** A peer with links to the management node of a queue, for requests and replies. */
async function askingPeer(workTurns: WorkTurns) {
  const made = fakeGateway({ workTurns });
  const peer = await FakePeer.root(made.gateway);
  peer.attach('sender', 'q/$management', 0);
  peer.attach('receiver', 'q/$management', 1);
  await peer.settled();
  peer.credit(1, 100);
  let deliveryId = 0;
  const ask = (operation: string, body: AmqpValue) => {
    const transfer = { kind: 'transfer', handle: 0, deliveryId: deliveryId++ } as const;
    const payload = writeSections({
      properties: list([str('r')]),
      applicationProperties: mapOf({ operation: str(`com.microsoft:${operation}`) }),
      body: [described(SECTION.value, body)],
    });
    peer.say({ ...transfer, deliveryTag: Buffer.of(1) }, payload);
  };
  return { ...made, peer, ask };
}

for (const [operation, body] of [
  ['peek-message', mapOf({ 'from-sequence-number': long(0n), 'message-count': int(COUNT) })],
  [
    'receive-by-sequence-number',
    mapOf({ 'sequence-numbers': list([long(1n)]), 'receiver-settle-mode': int(1) }),
  ],
] as const) {
  test(`row 5: ${operation} encodes messages of many values a few at a time`, async () => {
    const turns = new CountedTurns(realScheduler);
    const { peer, ask, broker, faults } = await askingPeer(turns);
    const messages = heavyMessages();
    broker.peek = async () => messages;
    broker.receiveDeferred = async () => messages;
    ask(operation, body);
    const bytes = COUNT * VALUES;
    await turnsUntil(() => peer.written > bytes);
    assert.ok(peer.written > bytes, `${peer.written} bytes were written`);
    assert.ok(turns.count >= COUNT, `${turns.count} turns`);
    assert.deepEqual(faults, []);
    peer.lost();
  });
}

test('row 4: a request fills a turn in proportion to the values that it may hold', async () => {
  const { peer, ask } = await askingPeer(new WorkTurns(realScheduler));
  const before = peer.pauses;
  const requests = 20;
  const values = list(Array<AmqpValue>(45_000).fill(NULL));
  peer.atOnce(() => {
    for (let i = 0; i < requests; i++) ask('peek-message', values);
  });
  assert.equal(peer.pauses - before, 1);
  await turnsUntil(() => peer.pauses - before >= 4, 100);
  assert.ok(peer.pauses - before >= 4, `${peer.pauses - before} pauses`);
  peer.lost();
});
