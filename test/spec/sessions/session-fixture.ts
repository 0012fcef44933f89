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
import { settlementOf } from '../queues/queue.ts';

/** Shared by the tests of sessions: an entity that requires sessions, and short calls for them. */

/** An entity that requires sessions: a queue, or a subscription of a topic. */
export interface SessionEntity {
  readonly kind: 'queue' | 'subscription';
  /** The path to receive from. */
  readonly path: string;
  readonly sendTo: string;
}

export const QUEUE: SessionEntity = { kind: 'queue', path: 'q', sendTo: 'q' };
export const SUBSCRIPTION: SessionEntity = {
  kind: 'subscription',
  path: 't/subscriptions/s',
  sendTo: 't',
};
export const ENTITIES = [QUEUE, SUBSCRIPTION] as const;

/** The LockDuration unless a test sets another one. */
export const LOCK_SECONDS = 60;

/** Starts a broker whose namespace has one entity, which requires sessions. */
export async function startSessions(
  t: TestContext,
  entity: SessionEntity = QUEUE,
  settings: Record<string, string> = {},
): Promise<SessionFixture> {
  const broker = await startBroker(t);
  await createSessionEntity(broker, entity, settings);
  return new SessionFixture(broker, entity);
}

export async function createSessionEntity(
  broker: TestBroker,
  entity: SessionEntity,
  settings: Record<string, string> = {},
): Promise<void> {
  const all = { LockDuration: `PT${LOCK_SECONDS}S`, RequiresSession: 'true', ...settings };
  if (entity.kind === 'queue') {
    expectStatus(await broker.createQueue(entity.path, all), 201);
    return;
  }
  await createTopic(broker, entity.sendTo);
  await createSubscription(broker, entity.path, all);
}

/** The sessions of one entity, through one process. */
export class SessionFixture {
  readonly broker: TestBroker;
  readonly entity: SessionEntity;

  constructor(broker: TestBroker, entity: SessionEntity) {
    this.broker = broker;
    this.entity = entity;
  }

  get path(): string {
    return this.entity.path;
  }

  get dead(): string {
    return `${this.path}/$deadletterqueue`;
  }

  /** Sends each body in a request of its own. */
  async send(SessionId: string, ...bodies: readonly string[]): Promise<void> {
    for (const body of bodies) {
      expectStatus(await this.broker.send(this.entity.sendTo, body, { SessionId }), 201);
    }
  }

  async sendBatch(messages: readonly BatchMessage[]): Promise<void> {
    expectStatus(await this.broker.sendBatch(this.entity.sendTo, messages), 201);
  }

  async accept(sessionId: string): Promise<TestSession> {
    return await acceptSession(this.broker, this.path, sessionId);
  }

  async acceptRaw(sessionId: string): Promise<Answer> {
    return await acceptRaw(this.broker, this.path, sessionId);
  }

  /** Accepts the next session; fails if there is none. */
  async next(timeout = 0): Promise<TestSession> {
    const session = await acceptNext(this.broker, this.path, timeout);
    assert.ok(session, 'a session can be accepted');
    return session;
  }

  /** Accepts the next session; fails if it is not this one. */
  async nextIs(sessionId: string): Promise<TestSession> {
    const session = await this.next();
    assert.equal(session.id, sessionId);
    return session;
  }

  async requireNone(): Promise<void> {
    const session = await acceptNext(this.broker, this.path);
    assert.equal(session?.id, undefined, 'no session can be accepted');
  }

  async list(query: Readonly<Record<string, string | number>> = {}): Promise<readonly string[]> {
    return await listSessions(this.broker, this.path, query);
  }

  advance(...[step]: Parameters<TestBroker['clock']['advance']>): void {
    this.broker.clock.advance(step);
  }

  /** Advances the clock until every lock that is held now has expired. */
  endLocks(): void {
    this.advance({ seconds: LOCK_SECONDS });
  }

  /** Updates the settings of the entity, which ends every lock. */
  async update(settings: Record<string, string> = {}): Promise<void> {
    const kind = this.entity.kind === 'queue' ? 'QueueDescription' : 'SubscriptionDescription';
    const all = { LockDuration: `PT${LOCK_SECONDS}S`, RequiresSession: 'true', ...settings };
    const answer = await this.broker.putEntity(this.path, kind, all, { 'If-Match': '*' });
    expectStatus(answer, 200);
  }
}

/** A message with this SessionId, for a batch. */
export function inSession(
  SessionId: string,
  Body: string,
  more: Readonly<Record<string, unknown>> = {},
): BatchMessage {
  return { Body, BrokerProperties: { SessionId, ...more } };
}

/** Peek-locks the next message; fails if there is none. */
export async function lockOne(session: TestSession): Promise<Received> {
  const [message] = await session.peekLockMany(1);
  assert.ok(message, `session ${session.id} has a message`);
  return message;
}

/** Settles the messages; fails if one is refused. */
export async function settleAll(
  session: TestSession,
  messages: readonly Received[],
  outcome: SettlementRequest['outcome'] = 'complete',
  options: object = {},
): Promise<void> {
  const outcomes = await session.settle(messages.map((one) => settlementOf(one, outcome, options)));
  for (const { settled, error } of outcomes) assert.ok(settled, error?.message);
}

/** Tries to settle a message; returns the error code, or undefined if it was settled. */
export async function settleError(
  session: TestSession,
  message: Received,
  outcome: SettlementRequest['outcome'] = 'complete',
): Promise<string | undefined> {
  const [answer] = await session.settle([settlementOf(message, outcome)]);
  assert.equal(answer?.settled, answer?.error === undefined);
  return answer?.error?.code;
}

/** Receives and completes all messages of a session; returns their bodies. */
export async function drain(session: TestSession): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const messages = await session.peekLockMany(100);
    if (messages.length === 0) return found;
    found.push(...messages.map(({ body }) => body));
    await settleAll(session, messages);
  }
}

export function deliveryCounts(messages: readonly Received[]): number[] {
  return messages.map(({ broker: { DeliveryCount } }) => DeliveryCount);
}
