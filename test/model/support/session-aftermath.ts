import assert from 'node:assert/strict';
import {
  acceptNext,
  acceptSession,
  listSessions,
  type TestSession,
} from '../../support/test-session.ts';
import type { SessionClients } from './session-clients.ts';
import { LOCK_MS, type ModelMessage, type SessionModel } from './session-model.ts';

/** Empties the queue after all locks have ended, and compares all messages and states with the model. */
export async function checkSessionsAfterwards(
  model: SessionModel,
  clients: SessionClients,
): Promise<void> {
  const broker = clients.at(0);
  broker.clock.advance({ ms: LOCK_MS });
  model.now = broker.clock.now();
  const waiting = new Set(model.waiting());
  for (let turn = 0; waiting.size > 0; turn++) {
    const session = await acceptNext(clients.at(turn), clients.queue);
    assert.ok(session, `${[...waiting]} have messages, and are not accepted`);
    assert.ok(waiting.delete(session.id), `${session.id} has no message, or was accepted twice`);
    await drain(model, session);
    await checkRest(model, session);
    await session.release();
  }
  assert.equal((await acceptNext(broker, clients.queue))?.id, undefined);
  const rest = new Set([
    ...model.messages.filter(({ state }) => state === 'deferred').map((one) => one.session),
    ...model.states.keys(),
  ]);
  for (const id of rest) {
    const session = await acceptSession(broker, clients.queue, id);
    await checkRest(model, session);
    await session.release();
  }
  await checkDeadLetters(model, clients);
  assert.deepEqual(await listSessions(broker, clients.queue, { top: 1000 }), []);
  const { total } = await broker.runtimeProperties(clients.queue);
  assert.equal(total, 0, 'nothing is left');
}

const shown = ({ id, failed }: ModelMessage) => [id, failed + 1];

/** Receives the active messages of a session in order, and completes them. */
async function drain(model: SessionModel, session: TestSession): Promise<void> {
  const expected = model.of(session.id, 'active');
  const received = await session.peekLockMany(1000);
  assert.deepEqual(
    received.map(({ broker }) => [broker.MessageId, broker.DeliveryCount]),
    expected.map(shown),
  );
  await complete(session, received);
  assert.deepEqual(await session.peekLockMany(1000), []);
  for (const message of expected) model.remove(message);
}

/** Compares a session's state and deferred messages, and completes these. */
async function checkRest(model: SessionModel, session: TestSession): Promise<void> {
  assert.equal(await session.state(), model.states.get(session.id), `the state of ${session.id}`);
  const expected = model.of(session.id, 'deferred');
  const numbers = expected.flatMap(({ number }) => number ?? []);
  for (let i = 0; i < numbers.length; i += 100) {
    const received = await session.receiveDeferred(numbers.slice(i, i + 100));
    assert.deepEqual(
      received.map(({ broker }) => [broker.MessageId, broker.DeliveryCount]),
      expected.slice(i, i + 100).map(shown),
    );
    await complete(session, received);
  }
  for (const message of expected) model.remove(message);
}

async function complete(
  session: TestSession,
  received: Awaited<ReturnType<TestSession['peekLockMany']>>,
): Promise<void> {
  if (received.length === 0) return;
  const outcomes = await session.settle(
    received.map(({ broker }) => ({ lockToken: broker.LockToken, outcome: 'complete' })),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
}

async function checkDeadLetters(model: SessionModel, clients: SessionClients): Promise<void> {
  const path = `${clients.queue}/$deadletterqueue`;
  const dead = await clients.at(1).receiveAndDeleteMany(path, 1000);
  model.catchUp();
  assert.deepEqual(
    dead.map(({ broker: b }) => [b.MessageId, b.DeliveryCount, b['SessionId']]).sort(),
    model.messages.map((one) => [...shown(one), one.session]).sort(),
  );
}
