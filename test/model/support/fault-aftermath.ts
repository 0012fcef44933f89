import assert from 'node:assert/strict';
import { expectStatus, type Received } from '../../support/test-broker.ts';
import type { FaultLedger, Spot } from './fault-ledger.ts';
import type { QueueClient } from './queue-client.ts';

type Queue = 'main' | 'dead';

/** A message and where a peek showed it. */
interface Shown {
  readonly id: string;
  readonly spot: Spot;
  readonly received: Received;
}

/** More messages than any history sends. */
const ALL = 250;
const SPOTS = {
  main: { Active: 'active', Deferred: 'deferred', Scheduled: 'scheduled' },
  dead: { Active: 'dead', Deferred: 'deadDeferred', Scheduled: 'scheduled' },
} as const;

/**
 * Checks a queue after the faults, when every lock, delay and due time has passed: each message is in one
 * place that the ledger allows, can be received there, and is gone once it is completed.
 */
export async function checkAftermath(
  client: QueueClient,
  ledger: FaultLedger,
  lockMs: number,
): Promise<void> {
  client.broker.clock.advance({ ms: 2 * lockMs });
  ledger.activated(client.broker.clock.now());
  const dead = await shownIn(client, 'dead');
  const main = await shownIn(client, 'main');
  ledger.checkFound([...dead, ...main]);
  assert.ok(!main.some(({ spot }) => spot === 'scheduled'), 'a due message was not activated');

  const over = await takeAll(client, 'main', main);
  assert.deepEqual(
    over.filter((id) => !ledger.mayHaveLapsed(id)),
    [],
    'a peek shows messages that cannot be received',
  );
  const nowDead = await shownIn(client, 'dead');
  const gone = over.filter((id) => !nowDead.some((one) => one.id === id));
  assert.deepEqual(
    gone.filter((id) => !ledger.mayExpire(id)),
    [],
    'messages were lost instead of dead-lettered',
  );
  assert.deepEqual(await takeAll(client, 'dead', nowDead), []);
}

async function shownIn(client: QueueClient, place: Queue): Promise<readonly Shown[]> {
  const shown = await client.peek(place, 0, ALL);
  return shown.map((received) => {
    const spot = Object.entries(SPOTS[place]).find(([state]) => state === received.broker.State);
    assert.ok(spot !== undefined);
    return { id: received.broker.MessageId, received, spot: spot[1] };
  });
}

/** Receives and completes all shown messages; returns the ids of those that were not received. */
async function takeAll(
  client: QueueClient,
  place: Queue,
  shown: readonly Shown[],
): Promise<readonly string[]> {
  const active = shown.filter(({ spot }) => spot === 'active' || spot === 'dead');
  const received = [...(await client.receive(place, 'peekLock', ALL, false))];
  const order = active.map(({ id }) => id);
  const came = received.map(({ broker }) => broker.MessageId);
  assert.deepEqual(
    came,
    order.filter((id) => came.includes(id)),
  );
  for (const { received: one } of shown.filter((other) => !active.includes(other))) {
    const numbers = [one.broker.SequenceNumber];
    const { answer, received: deferred } = await client.receiveDeferred(place, 'peekLock', numbers);
    if (answer.status !== 404) expectStatus(answer, 201);
    received.push(...deferred);
  }
  if (received.length > 0) {
    const settlements = received.map(({ broker }) => ({
      lockToken: broker.LockToken,
      outcome: 'complete' as const,
    }));
    const outcomes = await client.settle(place, settlements);
    assert.ok(
      outcomes.every(({ settled }) => settled),
      'not everything can be completed',
    );
  }
  const left = await shownIn(client, place);
  assert.deepEqual(
    left.map(({ id }) => id),
    [],
  );
  const taken = new Set(received.map(({ broker }) => broker.MessageId));
  return shown.map(({ id }) => id).filter((id) => !taken.has(id));
}
