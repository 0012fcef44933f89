import assert from 'node:assert/strict';
import { expectStatus, type Received } from '../../support/test-broker.ts';
import { checkContent, checkPeeked, checkReceived, lookAtAll, lookIfUnknown } from './compare.ts';
import type { ModelMessage } from './model-message.ts';
import type { Mode } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';
import { pickMany, type Step, step } from './step.ts';

type Queue = 'main' | 'dead';

/** Receives from a queue or its dead-letter queue; `alone` is one message in headers. */
export function receive(place: Queue, mode: Mode, count: number | 'alone'): Step {
  return step(
    `${mode}(${place} ${count})`,
    () => true,
    async (model, client) => {
      const isAlone = count === 'alone';
      const asked = isAlone ? 1 : count;
      const received = await client.receive(place, mode, asked, isAlone);
      const messages = checkReceived(model, place, received, asked);
      return record(model, mode, isAlone, messages, received);
    },
  );
}

/** Receives deferred messages by number; some may not exist. */
export function receiveDeferred(place: Queue, mode: Mode, drawn: readonly number[]): Step {
  return step(
    `receiveDeferred(${place} ${mode} ${drawn.join(' ')})`,
    (model) => model.messages.length > 0,
    async (model, client) => {
      await lookIfUnknown(model, client);
      const chosen = chooseDeferred(model, place, drawn);
      const numbers = chosen.flatMap(({ sequence }) => sequence ?? []);
      if (numbers.length === 0) return 'nothing to ask for';
      const found = numbers.map((number) => model.byNumber(place, number));
      const messages = found.filter((one): one is ModelMessage => isReceivable(model, one));
      const isDone = messages.length === numbers.length;
      const { answer, received } = await client.receiveDeferred(place, mode, numbers);
      expectStatus(answer, isDone ? (mode === 'peekLock' ? 201 : 200) : 404);
      for (const message of found) {
        // After a receiver asked for an expired message, the bus may remove it.
        const isAskedFor = message?.place === 'main' && message.state === 'Deferred';
        if (isAskedFor && model.isOver(message)) message.mayBeCleared = true;
      }
      if (!isDone) return `${numbers.join(' ')} ${answer.status}`;
      assert.deepEqual(
        received.map(({ broker }) => broker.SequenceNumber),
        numbers,
      );
      return record(model, mode, false, messages, received);
    },
  );
}

/** Mostly deferred messages, and sometimes another one, whose number the receive refuses. */
function chooseDeferred(
  model: QueueModel,
  place: Queue,
  drawn: readonly number[],
): readonly ModelMessage[] {
  const deferred = model.inOrder(place).filter(({ state }) => state === 'Deferred');
  const others = model.messages.filter((message) => !deferred.includes(message));
  return [...new Set(pickMany([...deferred, ...deferred, ...others.slice(0, 1)], drawn))];
}

function isReceivable(model: QueueModel, message: ModelMessage | undefined): boolean {
  return message?.state === 'Deferred' && model.standing(message) === 'free';
}

function record(
  model: QueueModel,
  mode: Mode,
  isAlone: boolean,
  messages: readonly ModelMessage[],
  received: readonly Received[],
): string {
  const isLocked = mode === 'peekLock';
  for (const [i, message] of messages.entries()) {
    const one = received[i];
    assert.ok(one !== undefined);
    checkContent(model, message, one, { isLocked, isAlone });
    if (isLocked) model.locked(message, one.broker.LockToken, one.location);
    else model.remove(message);
  }
  return messages.map(({ id }) => id).join(' ') || 'nothing';
}

/** Peeks at a part of a queue. */
export function peek(place: Queue, from: number, max: number): Step {
  return step(
    `peek(${place} from ${from} max ${max})`,
    () => true,
    async (model, client) => {
      await lookIfUnknown(model, client);
      const shown = await client.peek(place, from, max);
      checkPeeked(model, place, shown, { from, max });
      return shown.map(({ broker }) => broker.MessageId).join(' ') || 'nothing';
    },
  );
}

/** Peeks at both queues. */
export function lookAround(): Step {
  return step(
    'lookAround()',
    () => true,
    async (model, client) => {
      await lookAtAll(model, client);
      const shown = (place: Queue) => model.inOrder(place).map(({ id }) => id);
      return `main ${shown('main').join(' ')} / dead ${shown('dead').join(' ')}`;
    },
  );
}
