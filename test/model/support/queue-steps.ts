import assert from 'node:assert/strict';
import { expectStatus } from '../../support/test-broker.ts';
import { lookAt, lookAtAll, lookIfUnknown } from './compare.ts';
import type { QueueSettings } from './model-message.ts';
import type { QueueModel } from './queue-model.ts';
import { msOf, pick, type Span, type Step, step } from './step.ts';

type Queue = 'main' | 'dead';

/** Advances the clock by a span. */
export function pass(span: Span): Step {
  return step(
    `pass(${span})`,
    () => true,
    async (model, client) => {
      const ms = msOf(span, model.settings);
      client.broker.clock.advance({ ms });
      model.advance(ms);
      return undefined;
    },
  );
}

/** Advances the clock to a deadline, or to 1 ms before or after it. */
export function passTo(drawn: number, offset: -1 | 0 | 1): Step {
  return step(
    `passTo(${drawn} ${offset})`,
    (model) => deadlinesOf(model).length > 0,
    async (model, client) => {
      // One of the next three: a far deadline would end all others.
      const deadline = pick(deadlinesOf(model).slice(0, 3), drawn);
      const ms = Math.max(0, deadline - model.now + offset);
      client.broker.clock.advance({ ms });
      model.advance(ms);
      return `+${ms} ms`;
    },
  );
}

/** The future ends of locks and delays, due times and expiries, earliest first. */
function deadlinesOf(model: QueueModel): readonly number[] {
  const instants = model.messages
    .filter(({ place }) => place !== 'gone')
    .flatMap((message) => [
      message.lock?.until ?? 0,
      message.delayedUntil,
      message.state === 'Scheduled' ? message.enqueuedAt : 0,
      (message.place === 'main' && model.expiryOf(message)) || 0,
    ]);
  return [...new Set(instants)].filter((at) => at > model.now).sort((a, b) => a - b);
}

/** Changes the settings of the queue. */
export function update(settings: QueueSettings): Step {
  return step(
    `update(${printSettings(settings)})`,
    () => true,
    async (model, client) => {
      // The old settings decide about lapsed messages; by the new ones a message may be live again.
      await lookAtAll(model, client);
      await client.update(settings);
      model.update(settings);
      return undefined;
    },
  );
}

/** Runs the sweep, which must not change what clients observe. */
export function sweep(): Step {
  return step(
    'sweep()',
    () => true,
    async (model, client) => {
      await client.broker.sweep();
      model.swept();
      return undefined;
    },
  );
}

/** Empties a queue. */
export function purge(place: Queue): Step {
  return step(
    `purge(${place})`,
    (model) => model.inOrder(place).length > 0,
    async (model, client) => {
      await lookAtAll(model, client);
      expectStatus(await client.call(place, 'purge'), 200);
      for (const message of model.inOrder(place)) model.remove(message);
      return undefined;
    },
  );
}

/** Sends dead letters again. */
export function resubmit(max: number): Step {
  return step(
    `resubmit(${max})`,
    (model) => model.inOrder('dead').length > 0,
    async (model, client) => {
      await lookAtAll(model, client);
      const messages = model.inOrder('dead').filter((message) => isFreeActive(model, message));
      const moved = messages.slice(0, max);
      const answer = await client.call('dead', 'resubmit', { maxMessages: max });
      expectStatus(answer, 200);
      assert.deepEqual(answer.json(), { resubmitted: moved.length });
      model.resubmit(moved);
      return moved.map(({ id }) => id).join(' ');
    },
  );
}

/** Deletes unlocked messages that were enqueued before an instant. */
export function deleteOld(max: number, ageMs: number): Step {
  return step(
    `deleteOld(${max} older than ${ageMs} ms)`,
    (model) => model.inOrder('main').length > 0,
    async (model, client) => {
      await lookAt(model, client, 'main');
      const before = model.now - ageMs;
      const old = model
        .inOrder('main')
        .filter((message) => isFreeActive(model, message) && message.enqueuedAt < before)
        .slice(0, max);
      const answer = await client.call('main', 'delete', {
        maxMessages: max,
        enqueuedBefore: new Date(before).toISOString(),
      });
      expectStatus(answer, 200);
      assert.deepEqual(answer.json(), { deleted: old.length });
      for (const message of old) model.remove(message);
      return old.map(({ id }) => id).join(' ');
    },
  );
}

function isFreeActive(model: QueueModel, message: QueueModel['messages'][number]): boolean {
  return message.state === 'Active' && model.standing(message) === 'free';
}

/** An operator's operation on a message, by its number. */
export type Operation = 'breakLock' | 'reactivate' | 'delete' | 'deadLetter';

/** Runs an operator's operation on one message, whose state may not allow it. */
export function operate(operation: Operation, place: Queue, drawn: number): Step {
  return step(
    `${operation}(${place} ${drawn})`,
    (model) => model.messages.length > 0 && (place === 'main' || operation !== 'deadLetter'),
    async (model, client) => {
      await lookIfUnknown(model, client);
      // A number is valid in one queue only, so learn first which messages have left the main queue.
      if (place === 'dead') await lookAtAll(model, client);
      const applicable = model.inOrder(place).filter((one) => isApplicable(model, operation, one));
      const pool = [
        ...applicable,
        ...applicable,
        ...model.inOrder(place).slice(0, 2),
        ...model.messages.slice(0, 1),
      ];
      const { sequence: number } = pick(pool, drawn);
      if (number === undefined) return 'no known number';
      const more = operation === 'deadLetter' ? { deadLetterReason: 'operator' } : {};
      const isDone = await client.operate(place, operation, number, more);
      const message = model.byNumber(place, number);
      if (place === 'main') model.numbers.allAssigned();
      if (!isDone && message !== undefined && model.mayHaveLeft(message)) {
        await lookAtAll(model, client);
        return `${message.id} had left, or is held`;
      }
      const isExpected = message !== undefined && isApplicable(model, operation, message);
      assert.equal(isDone, isExpected, `${operation} of ${message?.id}`);
      if (message !== undefined && isDone) applyOperation(model, operation, message);
      return `${message?.id} ${isDone}`;
    },
  );
}

function isApplicable(
  model: QueueModel,
  operation: Operation,
  message: QueueModel['messages'][number],
): boolean {
  const standing = model.standing(message);
  if (operation === 'breakLock') return standing === 'locked';
  if (standing === 'locked' || message.delayedUntil > model.now) return false;
  if (operation === 'delete') return true;
  if (standing === 'scheduled' || standing === 'expired') return false;
  return operation === 'deadLetter' || message.state === 'Deferred';
}

function applyOperation(
  model: QueueModel,
  operation: Operation,
  message: QueueModel['messages'][number],
): void {
  switch (operation) {
    case 'breakLock':
      model.endLock(message);
      break;
    case 'reactivate':
      model.reactivated(message);
      break;
    case 'delete':
      model.remove(message);
      break;
    case 'deadLetter':
      model.deadLetter(message, 'operator');
      break;
  }
}

/** Settings in one line. */
export function printSettings(settings: QueueSettings): string {
  const { lockMs, maxDeliveryCount, defaultTtlMs, deadLettersExpired } = settings;
  const ttl = defaultTtlMs === undefined ? 'no ttl' : `ttl ${defaultTtlMs / 1000} s`;
  const expired = deadLettersExpired ? 'dead-letters expired' : 'drops expired';
  return `lock ${lockMs / 1000} s, ${maxDeliveryCount} deliveries, ${ttl}, ${expired}`;
}
