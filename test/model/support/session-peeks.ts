import assert from 'node:assert/strict';
import type { Received, TestBroker } from '../../support/test-broker.ts';
import { type SessionStep, step } from './session-clients.ts';
import type { SessionModel } from './session-model.ts';

const STATES = { Active: 'active', Deferred: 'deferred' } as const;

/** Peeks at all sessions, so many messages at a time, and compares what it sees with the model (semantics S12). */
export function peekAll(max: number, at: number): SessionStep {
  return step(
    `peek(${max} at ${at})`,
    () => true,
    async (model, clients) => {
      const shown = await peekPages(clients.at(at), clients.queue, max);
      const numbers = shown.map(({ broker }) => broker.SequenceNumber);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
        'each number once, in order',
      );
      compare(model, shown);
      return `${shown.length}`;
    },
  );
}

async function peekPages(broker: TestBroker, queue: string, max: number): Promise<Received[]> {
  const shown: Received[] = [];
  for (;;) {
    const from = (shown.at(-1)?.broker.SequenceNumber ?? 0) + 1;
    const page = await broker.peek(queue, { from, max });
    if (page.length === 0) return shown;
    shown.push(...page);
  }
}

function compare(model: SessionModel, shown: readonly Received[]): void {
  model.catchUp();
  const rowsOf = (state: 'active' | 'deferred') =>
    model.messages
      .filter((message) => message.state === state)
      .map(({ id, session, failed }) => [id, session, state, failed]);
  // A message whose deliveries are used up is shown until the next receive moves it to the dead letters.
  const dead = new Set(model.messages.filter(({ state }) => state === 'dead').map(({ id }) => id));
  assert.deepEqual(
    shown
      .filter(({ broker }) => !dead.has(broker.MessageId))
      .map(({ broker: { MessageId, SessionId, State, DeliveryCount } }) => {
        return [MessageId, SessionId, STATES[State as keyof typeof STATES], DeliveryCount];
      })
      .sort(),
    [...rowsOf('active'), ...rowsOf('deferred')].sort(),
  );
}
