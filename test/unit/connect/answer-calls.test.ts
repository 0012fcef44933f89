import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCalls } from '../../../connect/https/messages/answer-calls.ts';

test('each call of a group is answered with the outcomes of its own messages', () => {
  const answers: (readonly string[])[] = [];
  const calls = [2, 1, 3].map((messages) => ({
    request: undefined,
    size: { messages, bytes: 0 },
    resolve: (outcomes: readonly string[]) => answers.push(outcomes),
    reject: assert.fail,
  }));
  answerCalls(calls, ['a', 'b', 'c', 'd', 'e', 'f']);
  assert.deepEqual(answers, [['a', 'b'], ['c'], ['d', 'e', 'f']]);
});
