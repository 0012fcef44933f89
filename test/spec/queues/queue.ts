import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { START } from '../../support/manual-clock.ts';
import { startBroker } from '../../support/start-broker.ts';
import {
  type BatchMessage,
  expectStatus,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from '../../support/test-broker.ts';

/** Helpers of the tests of queues: one queue `q`, and short functions for its operations. */

export const DEAD = 'q/$deadletterqueue';

/** Starts a namespace with the queue `q` and sends it one message for each of these bodies. */
export async function startQueue(
  t: TestContext,
  settings: Record<string, string> = {},
  ...sent: readonly string[]
): Promise<TestBroker> {
  // Only Premium allows another maximum message size.
  const tier = 'MaxMessageSizeInKilobytes' in settings ? 'Premium' : 'Standard';
  const broker = await startBroker(t, { tier });
  expectStatus(await broker.createQueue('q', settings), 201);
  for (const body of sent) expectStatus(await broker.send('q', body), 201);
  return broker;
}

/** Sends in one batch, which storage packs into as few blocks as possible. */
export async function sendTogether(
  broker: TestBroker,
  messages: readonly (string | BatchMessage)[],
): Promise<void> {
  const batch = messages.map((message) =>
    typeof message === 'string' ? { Body: message } : message,
  );
  expectStatus(await broker.sendBatch('q', batch), 201);
}

/** A message with BrokerProperties. */
export function messageOf(Body: string, BrokerProperties: Record<string, unknown>): BatchMessage {
  return { Body, BrokerProperties };
}

/** Peek-locks the next message, which must exist. */
export async function lock(broker: TestBroker, path = 'q'): Promise<Received> {
  const message = await broker.peekLock(path);
  assert.ok(message, `${path} delivers a message`);
  return message;
}

/** A settlement of a locked message. */
export function settlementOf(
  { broker: { LockToken } }: Received,
  outcome: SettlementRequest['outcome'],
  options: object = {},
): SettlementRequest {
  return { lockToken: LockToken, outcome, ...options };
}

/** Locks the next message and settles it, which must succeed; returns it as it was delivered. */
export async function lockAndSettle(
  broker: TestBroker,
  outcome: SettlementRequest['outcome'],
  options: object = {},
  path = 'q',
): Promise<Received> {
  const message = await lock(broker, path);
  await settleOne(broker, message, outcome, options, path);
  return message;
}

/** Settles a message, which must succeed. */
export async function settleOne(
  broker: TestBroker,
  message: Received,
  outcome: SettlementRequest['outcome'],
  options: object = {},
  path = 'q',
): Promise<void> {
  const [answer] = await broker.settle(path, [settlementOf(message, outcome, options)]);
  assert.deepEqual(answer?.error, undefined);
  assert.equal(answer?.settled, true);
}

export function bodies(messages: readonly Received[]): string[] {
  return messages.map(({ body }) => body);
}

export function numbers(messages: readonly Received[]): number[] {
  return messages.map(({ broker: { SequenceNumber } }) => SequenceNumber);
}

/** Peeks body, reason and description of the dead letters. */
export async function deadLetters(broker: TestBroker): Promise<readonly unknown[]> {
  return (await broker.peek(DEAD)).map(({ body, properties }) => [
    body,
    properties['DeadLetterReason'],
    properties['DeadLetterErrorDescription'],
  ]);
}

/** An instant in the format of answers, in seconds from the start of the test's clock. */
export function instant({ seconds }: { readonly seconds: number }): string {
  return new Date(START + seconds * 1000).toUTCString();
}

/** The same in ISO 8601, which some requests need. */
export function isoInstant({ seconds }: { readonly seconds: number }): string {
  return new Date(START + seconds * 1000).toISOString();
}

/** Reason and description of a message that was dead-lettered because it expired. */
export const EXPIRED = ['TTLExpiredException', 'The message expired and was dead lettered.'];
