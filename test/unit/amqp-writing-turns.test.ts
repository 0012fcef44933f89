import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WritingTurns } from '../../amqp/messages/writing-turns.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { lockedMessage } from '../support/fake-peer.ts';

test('of small messages, too, a few are written before others have their turn', async () => {
  const { turnBytes, turnMessageBytes } = BUDGETS.connection;
  let turns = 0;
  const workTurns = {
    next: async () => {
      turns++;
    },
  };
  const writing = new WritingTurns(workTurns, {});
  const perTurn = turnBytes / turnMessageBytes;
  for (let i = 0; i < 4 * perTurn + 4; i++) await writing.before(lockedMessage(i, 10));
  assert.equal(turns, 4);
});
