import assert from 'node:assert/strict';
import {
  type BatchMessage,
  expectStatus,
  fromWire,
  type Received,
  type SettlementRequest,
} from '../../support/test-broker.ts';
import {
  acceptNext,
  acceptRaw,
  listSessions,
  type SessionLockAnswer,
} from '../../support/test-session.ts';
import {
  requireLost,
  type SessionClients,
  type SessionStep,
  step,
  underLock,
} from './session-clients.ts';
import {
  type Delivery,
  type Handle,
  LOCK_MS,
  type ModelMessage,
  type SessionModel,
} from './session-model.ts';
import { pick, pickMany } from './step.ts';

const always = () => true;

export function send(sessions: readonly string[], isLarge: boolean, at: number): SessionStep {
  return step(`send(${sessions} at ${at})`, always, async (model, clients) => {
    const messages = sessions.map((session) => model.sending(session));
    const batch = messages.map(
      ({ id, session }): BatchMessage => ({
        Body: isLarge ? id.padEnd(3000, id) : id,
        BrokerProperties: { MessageId: id, SessionId: session },
      }),
    );
    const [only] = batch;
    const answer =
      batch.length === 1 && only !== undefined
        ? await clients.at(at).send(clients.queue, only.Body, { ...only.BrokerProperties })
        : await clients.at(at).sendBatch(clients.queue, batch);
    expectStatus(answer, 201);
    model.messages.push(...messages);
    return messages.map(({ id }) => id).join(' ');
  });
}

function recordLock(
  model: SessionModel,
  clients: SessionClients,
  holder: number,
  lock: SessionLockAnswer,
): void {
  // The holder stops using its previous session, whose lock then expires unless it accepts it again.
  const held = model.accepted(lock.sessionId);
  const lockedUntil = new Date(Math.floor(held.until / 1000) * 1000).toUTCString();
  assert.equal(lock.lockedUntilUtc, lockedUntil);
  clients.enter(held, lock);
  model.handles[holder] = { held, deliveries: [] };
}

export function accept(holder: number, session: string, at: number): SessionStep {
  return step(`accept(${holder} ${session} at ${at})`, always, async (model, clients) => {
    const answer = await acceptRaw(clients.at(at), clients.queue, session);
    if (model.isHeld(session)) {
      assert.equal(answer.status, 409, `${session} is held`);
      return 'held';
    }
    expectStatus(answer, 201);
    recordLock(model, clients, holder, answer.json());
    return undefined;
  });
}

export function next(holder: number, at: number): SessionStep {
  return step(`accept next(${holder} at ${at})`, always, async (model, clients) => {
    const waiting = model.waiting();
    const session = await acceptNext(clients.at(at), clients.queue);
    if (session === undefined) {
      assert.deepEqual(waiting, [], 'a session has messages, and is not accepted');
      return 'none';
    }
    const { id, lock, lockedUntilUtc } = session;
    assert.ok(waiting.includes(id), `${id} is held, or has no message`);
    recordLock(model, clients, holder, { sessionId: id, sessionLock: lock, lockedUntilUtc });
    return id;
  });
}

/** Checks received messages against the model, and records them. */
function recordReceived(
  model: SessionModel,
  handle: Handle,
  received: readonly Received[],
  expected: readonly ModelMessage[],
): string {
  assert.deepEqual(
    received.map(({ broker }) => [broker.MessageId, broker.DeliveryCount, broker['SessionId']]),
    expected.map(({ id, failed, session }) => [id, failed + 1, session]),
  );
  for (const [i, message] of expected.entries()) {
    const { body, broker } = received[i] ?? assert.fail();
    assert.ok(body.startsWith(message.id));
    assert.ok(message.number === undefined || message.number === broker.SequenceNumber);
    message.number = broker.SequenceNumber;
    message.under = handle.held;
    handle.deliveries.push({ message, lockToken: broker.LockToken, under: handle.held });
  }
  const numbers = model.of(handle.held.session, 'active').flatMap(({ number }) => number ?? []);
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
    'numbers follow the order of sends',
  );
  return expected.map(({ id }) => id).join(' ');
}

export function receive(holder: number, count: number, at: number): SessionStep {
  return underLock(`receive ${count} at ${at}`, holder, async (handle, isLive, model, clients) => {
    const session = clients.session(handle.held, at);
    const path = `messages/head?timeout=0&maxMessages=${count}`;
    const answer = await session.request('POST', path);
    if (!isLive) return requireLost(answer);
    const received =
      answer.status === 204 ? [] : answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
    const expected = model.free(handle.held.session).slice(0, count);
    return recordReceived(model, handle, received, expected);
  });
}

export function receiveDeferred(holder: number, drawn: readonly number[], at: number): SessionStep {
  return underLock(`receive deferred at ${at}`, holder, async (handle, isLive, model, clients) => {
    const { session } = handle.held;
    const expected = pickMany(model.of(session, 'deferred'), drawn);
    if (expected.length === 0) return 'no known number';
    const body = JSON.stringify({ sequenceNumbers: expected.map(({ number }) => number) });
    const request = clients.session(handle.held, at);
    const answer = await request.request('POST', 'messages/$deferred', { body });
    if (!isLive) return requireLost(answer);
    if (expected.some(({ under }) => under !== undefined)) {
      assert.equal(answer.status, 404);
      return 'held already';
    }
    expectStatus(answer, 201);
    const received = answer.json<Parameters<typeof fromWire>[0][]>().map(fromWire);
    return recordReceived(model, handle, received, expected);
  });
}

export interface Settling {
  readonly outcome: SettlementRequest['outcome'];
  readonly hasProperties: boolean;
}

/** Settles some of a holder's messages in one call, each with its own outcome. */
export function settle(
  holder: number,
  drawn: readonly number[],
  ways: readonly [Settling, ...Settling[]],
  at: number,
): SessionStep {
  const name = `settle ${ways.map(({ outcome }) => outcome).join('+')} at ${at}`;
  return underLock(name, holder, async (handle, isLive, model, clients) => {
    const chosen = pickMany(handle.deliveries, drawn);
    if (chosen.length === 0) return 'nothing to settle';
    const settlements = chosen.map(({ lockToken }, i): SettlementRequest => {
      const { outcome, hasProperties } = pick(ways, i);
      const isChange = hasProperties && outcome !== 'complete';
      return { lockToken, outcome, ...(isChange ? { properties: { i } } : {}) };
    });
    const outcomes = await clients.session(handle.held, at).settle(settlements);
    for (const [i, delivery] of chosen.entries()) {
      const code = outcomes[i]?.error?.code;
      if (!isLive) {
        assert.equal(code, 'SessionLockLost', delivery.message.id);
        continue;
      }
      assert.equal(code, undefined, `${delivery.message.id} ${outcomes[i]?.error?.message}`);
      applyOutcome(model, delivery, pick(ways, i).outcome);
      handle.deliveries.splice(handle.deliveries.indexOf(delivery), 1);
    }
    return chosen.map(({ message }) => message.id).join(' ');
  });
}

function applyOutcome(
  model: SessionModel,
  { message }: Delivery,
  outcome: SettlementRequest['outcome'],
): void {
  delete message.under;
  if (outcome === 'complete') model.remove(message);
  if (outcome === 'abandon' || outcome === 'defer') message.failed++;
  if (outcome === 'defer') message.state = 'deferred';
  if (outcome === 'deadLetter') message.state = 'dead';
  model.catchUp();
}

export function renew(holder: number, at: number): SessionStep {
  return underLock(`renew at ${at}`, holder, async ({ held }, isLive, model, clients) => {
    const answer = await clients.session(held, at).request('POST', 'sessions/$renew');
    if (!isLive) return requireLost(answer);
    expectStatus(answer, 200);
    held.until = model.now + LOCK_MS;
    return undefined;
  });
}

export function release(holder: number, at: number): SessionStep {
  return underLock(`release at ${at}`, holder, async ({ held }, isLive, model, clients) => {
    const answer = await clients.session(held, at).request('POST', 'sessions/$release');
    if (!isLive) return requireLost(answer);
    expectStatus(answer, 200);
    held.end = 'released';
    model.catchUp();
    return undefined;
  });
}

export function state(
  holder: number,
  change: string | undefined | 'read',
  at: number,
): SessionStep {
  return underLock(
    `state ${change?.slice(0, 8)} at ${at}`,
    holder,
    async (handle, isLive, model, clients) => {
      const { session } = handle.held;
      const here = clients.session(handle.held, at);
      const before = await here.request('GET', 'sessions/$state');
      if (!isLive) {
        requireLost(before);
        return requireLost(await here.request('PUT', 'sessions/$state', { body: 'late' }));
      }
      assert.equal(before.status === 204 ? undefined : before.text, model.states.get(session));
      if (change === 'read') return undefined;
      if (change === undefined) {
        await here.clearState();
        model.states.delete(session);
      } else {
        await here.setState(change);
        model.states.set(session, change);
      }
      return undefined;
    },
  );
}

export function passTime(ms: number): SessionStep {
  return step(`+${ms} ms`, always, async (model, clients) => {
    clients.at(0).clock.advance({ ms });
    model.now += ms;
    model.catchUp();
    return undefined;
  });
}

export function update(at: number): SessionStep {
  return step('update', always, async (model, clients) => {
    const settings = clients.settings(model.maxDeliveryCount);
    expectStatus(await clients.at(at).updateQueue(clients.queue, settings), 200);
    model.breakLocks();
    model.catchUp();
    return undefined;
  });
}

export function list(at: number): SessionStep {
  return step('list', always, async (model, clients) => {
    const broker = clients.at(at);
    const withMessages = await listSessions(broker, clients.queue, { top: 1000 });
    assert.deepEqual([...withMessages].sort(), model.listed());
    const query = { top: 1000, updatedAfter: '2025-01-01T00:00:00Z' };
    const withState = await listSessions(broker, clients.queue, query);
    assert.deepEqual([...withState].sort(), [...model.states.keys()].sort());
    return undefined;
  });
}
