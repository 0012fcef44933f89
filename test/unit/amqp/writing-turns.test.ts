import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WritingTurns } from '../../../amqp/messages/writing-turns.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { type Properties, text } from '../../../shared/domain/messages/property-value.ts';
import { lockedMessage } from '../../support/fake-peer.ts';

const { turnBytes, turnMessageBytes, turnPropertyBytes } = BUDGETS.connection;

/** How often messages of one kind wait for a turn while that many are encoded. */
async function turnsFor(count: number, properties: Properties): Promise<number> {
  let turns = 0;
  const workTurns = {
    next: async () => {
      turns++;
    },
  };
  const writing = new WritingTurns(workTurns, {});
  for (let i = 0; i < count; i++) {
    const locked = lockedMessage(i, 10);
    await writing.before({ ...locked, message: { ...locked.message, properties } });
  }
  return turns;
}

test('a few small messages, too, are encoded before others have their turn', async () => {
  const perTurn = turnBytes / turnMessageBytes;
  assert.equal(await turnsFor(4 * perTurn + 4, {}), 4);
});

test('messages of very many properties are encoded one at a time', async () => {
  const names = Array.from({ length: turnBytes / turnPropertyBytes }, (_, i) => `p${i}`);
  const properties = Object.fromEntries(names.map((name) => [name, text('')]));
  assert.equal(await turnsFor(10, properties), 10);
});
