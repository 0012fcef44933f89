import assert from 'node:assert/strict';
import type { Received } from '../../support/test-broker.ts';
import type { ModelMessage } from './model-message.ts';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';

/** Compares the bus with the model, and takes over from the bus what docs/semantics leaves open. */

const PEEK_MAX = 250;
const UNLIMITED_SECONDS = 922_337_203_685.477_54;

type Queue = 'main' | 'dead';

/** Peeks at the whole queue and compares it with the model. */
export async function lookAt(model: QueueModel, client: QueueClient, place: Queue): Promise<void> {
  checkPeeked(model, place, await client.peek(place, 0, PEEK_MAX), { from: 0, max: PEEK_MAX });
}

/** Compares both queues, so that the model knows where lapsed and activated messages are now. */
export async function lookAtAll(model: QueueModel, client: QueueClient): Promise<void> {
  await lookAt(model, client, 'main');
  await lookAt(model, client, 'dead');
}

/** Learns the numbers of activated messages, before a command that names messages by number. */
export async function lookIfUnknown(model: QueueModel, client: QueueClient): Promise<void> {
  if (model.numbers.hasUnknown) await lookAtAll(model, client);
}

/** Checks that a peek shows every message from a number on, in order, in its current state. */
export function checkPeeked(
  model: QueueModel,
  place: Queue,
  shown: readonly Received[],
  { from, max }: { readonly from: number; readonly max: number },
): void {
  if (place === 'main') model.numbers.allAssigned();
  else deadLetterLapsed(model);
  assert.ok(shown.length <= max, `a peek at ${max} messages shows ${shown.length}`);
  const messages = shown.map((one) => recognized(model, place, one));
  for (const [i, message] of messages.entries()) {
    assert.deepEqual(asPeeked(shown[i]), expectedOnPeek(model, message));
  }
  const last = requireAscending(shown);
  assert.ok(
    shown.every((one) => numberOf(one) >= from),
    `a peek from ${from} begins before it`,
  );
  const isAll = shown.length < max;
  for (const message of model.inOrder(place)) {
    if (messages.includes(message)) continue;
    const number = message.sequence ?? Number.POSITIVE_INFINITY;
    if (number < from || (!isAll && number > last)) continue;
    assert.ok(model.mayHaveLeft(message), `a peek at ${place} does not show ${nameOf(message)}`);
    model.leaveQueue(message);
  }
}

/** Checks, before the model records a receive, that it returned the first available messages, in order. */
export function checkReceived(
  model: QueueModel,
  place: Queue,
  received: readonly Received[],
  asked: number,
): readonly ModelMessage[] {
  if (place === 'main') {
    model.polled();
    model.numbers.allAssigned();
  } else if (received.length === 0) {
    deadLetterLapsed(model);
  }
  assert.ok(received.length <= asked, `${received.length} messages came, ${asked} were requested`);
  const messages = received.map((one) => recognized(model, place, one));
  const last = requireAscending(received);
  for (const message of messages) {
    const standing = `${message.state} and ${model.standing(message)}`;
    assert.equal(standing, 'Active and free', `${nameOf(message)} was delivered`);
  }
  const isAll = received.length < asked;
  for (const message of model.inOrder(place)) {
    if (messages.includes(message) || message.state !== 'Active') continue;
    if (model.standing(message) !== 'free') continue;
    const isFirst = (message.sequence ?? Number.POSITIVE_INFINITY) < last;
    assert.ok(!isAll && !isFirst, `${nameOf(message)} was available and was not received`);
    model.numbers.follows(message, last);
  }
  if (isAll && place === 'main') deadLetterLapsed(model);
  return messages;
}

/**
 * Moves to the dead-letter queue what ended with its lock: a peek or receive of the dead-letter queue finds
 * these messages, and so does a receive that returned fewer messages than it asked for.
 */
function deadLetterLapsed(model: QueueModel): void {
  for (const message of model.inOrder('main')) {
    const isDelayed = message.delayedUntil > model.now;
    if (model.hasTakenEffect(message) && !isDelayed) model.leaveQueue(message);
  }
}

/** The message of the model that the bus returned. A lapsed one may have moved to the dead-letter queue. */
function recognized(model: QueueModel, place: Queue, seen: Received): ModelMessage {
  const message = model.messages.find(({ id }) => id === seen.broker.MessageId);
  assert.ok(message !== undefined, `there is no message ${seen.broker.MessageId}`);
  if (message.place === 'main' && place === 'dead') {
    const mayBeThere = model.mayHaveLeft(message) && model.isKept(message);
    assert.ok(mayBeThere, `${nameOf(message)} must not be in the dead-letter queue`);
    model.leaveQueue(message);
  }
  assert.equal(message.place, place, `${nameOf(message)} was seen in ${place}`);
  model.numbers.learn(message, numberOf(seen));
  return message;
}

/** Returns the highest number, or 0 for no messages. */
function requireAscending(seen: readonly Received[]): number {
  const numbers = seen.map(numberOf);
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  assert.deepEqual(numbers, sorted, 'messages are not in the order of their numbers');
  return numbers.at(-1) ?? 0;
}

const numberOf = ({ broker }: Received): number => broker.SequenceNumber;
const nameOf = ({ id, sequence }: ModelMessage): string => `${id} (number ${sequence ?? '?'})`;
const date = (at: number): string => new Date(at).toUTCString();
const seconds = (ms: number | undefined): number =>
  ms === undefined ? UNLIMITED_SECONDS : ms / 1000;

function asPeeked(shown: Received | undefined) {
  assert.ok(shown !== undefined);
  const { broker, body, properties } = shown;
  return {
    id: broker.MessageId,
    body,
    state: broker.State,
    failedDeliveries: broker.DeliveryCount,
    enqueued: broker.EnqueuedTimeUtc,
    expires: broker['ExpiresAtUtc'],
    timeToLive: broker.TimeToLive,
    lockToken: broker['LockToken'],
    properties,
  };
}

/** A peek shows the message's own time to live only, not the entity's (semantics #A11, #A12). */
function expectedOnPeek(model: QueueModel, message: ModelMessage) {
  const { id, body, state, enqueuedAt, ttlMs, properties } = message;
  return {
    id,
    body,
    state,
    failedDeliveries: model.rawCount(message),
    enqueued: date(enqueuedAt),
    expires: ttlMs === undefined ? undefined : date(enqueuedAt + ttlMs),
    timeToLive: seconds(ttlMs),
    lockToken: undefined,
    properties,
  };
}

/** Checks the content of a received message; called before the model records the delivery. */
export function checkContent(
  model: QueueModel,
  message: ModelMessage,
  received: Received,
  { isLocked, isAlone }: { readonly isLocked: boolean; readonly isAlone: boolean },
): void {
  const { id, body, state, place, enqueuedAt, ttlMs, properties } = message;
  const { broker } = received;
  const { defaultTtlMs, lockMs } = model.settings;
  const expiry = model.expiryOf(message);
  const until = isLocked ? date(model.now + lockMs) : undefined;
  assert.deepEqual(
    {
      id: broker.MessageId,
      body: received.body,
      state: broker.State,
      delivery: broker.DeliveryCount,
      enqueued: broker.EnqueuedTimeUtc,
      timeToLive: broker.TimeToLive,
      lockedUntil: broker['LockedUntilUtc'],
      hasToken: broker['LockToken'] !== undefined,
      // A single message in headers has no ExpiresAtUtc, and its properties are mixed with other headers.
      ...(isAlone ? {} : { expires: broker['ExpiresAtUtc'], properties: received.properties }),
    },
    {
      id,
      body,
      state,
      delivery: model.rawCount(message) + 1,
      enqueued: date(enqueuedAt),
      timeToLive: seconds(ttlMs ?? (place === 'main' ? defaultTtlMs : undefined)),
      lockedUntil: until,
      hasToken: isLocked,
      ...(isAlone ? {} : { expires: expiry === undefined ? undefined : date(expiry), properties }),
    },
  );
}
