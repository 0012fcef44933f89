import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { described, list, long, mapOf, NULL, str } from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { MB } from '../../../shared/domain/units.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { sourceOf, targetOf } from '../../support/raw-session.ts';

const REQUESTS = 20;
const MESSAGE_BYTES = LIMITS.messageKilobytesDefault * 1024;
const { bytes: READ_BYTES, heldPerByte } = BUDGETS.connection.reads;

for (const [count, most] of [
  [LIMITS.sequenceNumbers, 1],
  [READ_BYTES / 4 / MESSAGE_BYTES, 4],
] as const) {
  test(`row 1: of requests for ${count} deferred messages, ${most} run at a time`, async (t) => {
    const memory = new MemoryBudget(400 * MB);
    let running = 0;
    let highest = 0;
    const held: number[] = [];
    const { connect } = await startFakeGateway(t, {
      memory,
      calls: {
        receiveDeferred: async () => {
          running++;
          highest = Math.max(highest, running);
          held.push(memory.held / running);
          await new Promise(setImmediate);
          await new Promise(setImmediate);
          running--;
          return [];
        },
      },
    });
    const session = connect();
    const asking = await session.sender(targetOf('q/$management'));
    const ends = [sourceOf('q/$management'), targetOf('answers')] as const;
    const { handle } = await session.attach('receiver', ends, { senderSettleMode: 1 });
    session.credit(handle, REQUESTS);
    const empty = memory.held;
    const body = mapOf({ 'sequence-numbers': list(Array.from({ length: count }, () => long(1n))) });
    const payload = writeSections({
      properties: list([str('r'), NULL, NULL, NULL, str('answers')]),
      applicationProperties: mapOf({ operation: str('com.microsoft:receive-by-sequence-number') }),
      body: [described(SECTION.value, body)],
    });
    for (let i = 0; i < REQUESTS; i++) {
      const transfer = { kind: 'transfer', handle: asking, deliveryId: i, settled: true } as const;
      session.raw.say({ ...transfer, deliveryTag: Buffer.from([i]) }, 0, payload);
    }
    for (let i = 0; i < REQUESTS; i++) await session.raw.hear('transfer');
    assert.equal(highest, most);
    assert.ok(held.every((bytes) => bytes >= count * MESSAGE_BYTES * heldPerByte));
    assert.ok(memory.held - empty < MB);
  });
}
