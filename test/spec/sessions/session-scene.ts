import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import {
  type BatchMessage,
  expectStatus,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from '../../support/test-broker.ts';
import {
  acceptNext,
  acceptRaw,
  acceptSession,
  listSessions,
  type TestSession,
} from '../../support/test-session.ts';
import { createSubscription, createTopic } from '../../support/topic-entities.ts';
import { having } from '../queues/queue.ts';

/** What tests of sessions share: an entity that requires them, and few words for what they do. */

/** Where sessions are: in a queue, or in a subscription of a topic. */
export interface Place {
  readonly what: 'queue' | 'subscription';
  /** Where messages are received. */
  readonly path: string;
  readonly sendTo: string;
}

export const QUEUE: Place = { what: 'queue', path: 'q', sendTo: 'q' };
export const SUBSCRIPTION: Place = {
  what: 'subscription',
  path: 't/subscriptions/s',
  sendTo: 't',
};
export const PLACES = [QUEUE, SUBSCRIPTION] as const;

/** Locks last a minute unless a test says otherwise. */
export const LOCK_SECONDS = 60;

/** An entity that requires sessions, alone in a namespace of its own. */
export async function startSessions(
  t: TestContext,
  place: Place = QUEUE,
  settings: Record<string, string> = {},
): Promise<SessionScene> {
  const broker = await startBroker(t);
  await createPlace(broker, place, settings);
  return new SessionScene(broker, place);
}

export async function createPlace(
  broker: TestBroker,
  place: Place,
  settings: Record<string, string> = {},
): Promise<void> {
  const all = { LockDuration: `PT${LOCK_SECONDS}S`, RequiresSession: 'true', ...settings };
  if (place.what === 'queue') {
    expectStatus(await broker.createQueue(place.path, all), 201);
    return;
  }
  await createTopic(broker, place.sendTo);
  await createSubscription(broker, place.path, all);
}

/** Sessions of one entity as seen through one process. */
export class SessionScene {
  readonly broker: TestBroker;
  readonly place: Place;

  constructor(broker: TestBroker, place: Place) {
    this.broker = broker;
    this.place = place;
  }

  get path(): string {
    return this.place.path;
  }

  get dead(): string {
    return `${this.path}/$deadletterqueue`;
  }

  /** Sends each body on its own. */
  async send(SessionId: string, ...bodies: readonly string[]): Promise<void> {
    for (const body of bodies) {
      expectStatus(await this.broker.send(this.place.sendTo, body, { SessionId }), 201);
    }
  }

  /** Sends in one batch. */
  async sendBatch(messages: readonly BatchMessage[]): Promise<void> {
    expectStatus(await this.broker.sendBatch(this.place.sendTo, messages), 201);
  }

  async accept(sessionId: string): Promise<TestSession> {
    return await acceptSession(this.broker, this.path, sessionId);
  }

  async acceptRaw(sessionId: string): Promise<Answer> {
    return await acceptRaw(this.broker, this.path, sessionId);
  }

  /** The next session, which must be there. */
  async next(timeout = 0): Promise<TestSession> {
    const session = await acceptNext(this.broker, this.path, timeout);
    assert.ok(session, 'a session can be had');
    return session;
  }

  /** The next session must be this one. */
  async nextIs(sessionId: string): Promise<TestSession> {
    const session = await this.next();
    assert.equal(session.id, sessionId);
    return session;
  }

  async noneWaits(): Promise<void> {
    const session = await acceptNext(this.broker, this.path);
    assert.equal(session?.id, undefined, 'no session can be had');
  }

  async list(query: Readonly<Record<string, string | number>> = {}): Promise<readonly string[]> {
    return await listSessions(this.broker, this.path, query);
  }

  advance(...[step]: Parameters<TestBroker['clock']['advance']>): void {
    this.broker.clock.advance(step);
  }

  /** So far that all locks of now have run out. */
  endLocks(): void {
    this.advance({ seconds: LOCK_SECONDS });
  }

  /** The entity with changed settings; every lock ends by it. */
  async update(settings: Record<string, string> = {}): Promise<void> {
    const kind = this.place.what === 'queue' ? 'QueueDescription' : 'SubscriptionDescription';
    const all = { LockDuration: `PT${LOCK_SECONDS}S`, RequiresSession: 'true', ...settings };
    const answer = await this.broker.putEntity(this.path, kind, all, { 'If-Match': '*' });
    expectStatus(answer, 200);
  }
}

/** A message of a session for a batch. */
export function inSession(
  SessionId: string,
  Body: string,
  more: Readonly<Record<string, unknown>> = {},
): BatchMessage {
  return { Body, BrokerProperties: { SessionId, ...more } };
}

/** Peek-locks the next message, which must be there. */
export async function lockOne(session: TestSession): Promise<Received> {
  const [message] = await session.peekLockMany(1);
  assert.ok(message, `session ${session.id} has a message`);
  return message;
}

/** Settles messages, all of which must succeed. */
export async function settleAll(
  session: TestSession,
  messages: readonly Received[],
  outcome: SettlementRequest['outcome'] = 'complete',
  options: object = {},
): Promise<void> {
  const outcomes = await session.settle(messages.map((one) => having(one, outcome, options)));
  for (const { settled, error } of outcomes) assert.ok(settled, error?.message);
}

/** What a refused settlement says. */
export async function refusalOf(
  session: TestSession,
  message: Received,
  outcome: SettlementRequest['outcome'] = 'complete',
): Promise<string | undefined> {
  const [answer] = await session.settle([having(message, outcome)]);
  assert.equal(answer?.settled, answer?.error === undefined);
  return answer?.error?.code;
}

/** Receives and completes whatever a session still has; the bodies. */
export async function drain(session: TestSession): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const messages = await session.peekLockMany(100);
    if (messages.length === 0) return found;
    found.push(...messages.map(({ body }) => body));
    await settleAll(session, messages);
  }
}

export function counts(messages: readonly Received[]): number[] {
  return messages.map(({ broker: { DeliveryCount } }) => DeliveryCount);
}
