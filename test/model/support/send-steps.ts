import assert from 'node:assert/strict';
import { type BatchMessage, expectStatus } from '../../support/test-broker.ts';
import { lookIfUnknown } from './compare.ts';
import type { Draft, ModelMessage } from './model-message.ts';
import type { QueueModel } from './queue-model.ts';
import { msOf, pickMany, type Span, type Step, step } from './step.ts';

/** A message to send, with times relative to now. */
export interface Outgoing {
  readonly ttl: Span | 'none';
  /** The time until it is due, for a scheduled message. */
  readonly dueIn?: Span;
  readonly bytes: number;
}

/** Sends one message or a batch; each message may be scheduled. */
export function send(outgoing: readonly Outgoing[]): Step {
  return step(
    `send(${outgoing.map(print).join(' ')})`,
    () => true,
    async (model, client) => {
      const drafts = outgoing.map((one) => draftOf(model, one));
      const sent = model.send(drafts);
      expectStatus(await client.send(sent.map((one, i) => toBatch(one, drafts[i]))), 201);
      return sent.map(({ id }) => id).join(' ');
    },
  );
}

/** Schedules with `$schedule`, which returns the sequence numbers. */
export function schedule(outgoing: readonly (Outgoing & { readonly dueIn: Span })[]): Step {
  return step(
    `schedule(${outgoing.map(print).join(' ')})`,
    () => true,
    async (model, client) => {
      const drafts = outgoing.map((one) => draftOf(model, one));
      const sent = model.send(drafts);
      const batch = sent.map((one, i) => toBatch(one, drafts[i]));
      const answer = await client.broker.request(
        'POST',
        `${client.path('main')}/messages/$schedule`,
        { body: JSON.stringify(batch) },
      );
      expectStatus(answer, 201);
      const { sequenceNumbers } = answer.json<{ sequenceNumbers: number[] }>();
      assert.equal(sequenceNumbers.length, sent.length);
      for (const [i, message] of sent.entries()) {
        model.numbers.learn(message, sequenceNumbers[i] ?? 0);
      }
      return sent.map(({ id, sequence }) => `${id}=${sequence}`).join(' ');
    },
  );
}

/** Cancels messages by number; some may not be scheduled. */
export function cancel(drawn: readonly number[]): Step {
  return step(
    `cancel(${drawn.join(' ')})`,
    (model) => model.messages.length > 0,
    async (model, client) => {
      await lookIfUnknown(model, client);
      const scheduled = model.inOrder('main').filter(({ state }) => state === 'Scheduled');
      // Sometimes a message that cannot be cancelled.
      const others = model.messages.filter((message) => !scheduled.includes(message));
      const pool = [...scheduled, ...scheduled, ...others.slice(0, 1)];
      const chosen = [...new Set(pickMany(pool, drawn))];
      const sequenceNumbers = chosen.flatMap(({ sequence }) => sequence ?? []);
      if (sequenceNumbers.length === 0) return 'nothing to cancel';
      const found = sequenceNumbers.map((number) => model.byNumber('main', number));
      const isDone = found.every((message) => message?.state === 'Scheduled');
      const answer = await client.call('main', 'cancelScheduled', { sequenceNumbers });
      expectStatus(answer, isDone ? 200 : 404);
      if (isDone) for (const message of found) if (message) model.remove(message);
      model.numbers.allAssigned();
      return `${sequenceNumbers.join(' ')} ${answer.status}`;
    },
  );
}

function draftOf({ now, settings }: QueueModel, { ttl, dueIn, bytes }: Outgoing): Draft {
  return {
    ttlMs: ttl === 'none' ? undefined : msOf(ttl, settings),
    dueAt: dueIn === undefined ? undefined : now + msOf(dueIn, settings),
    bytes,
  };
}

function toBatch({ id, body, properties }: ModelMessage, draft: Draft | undefined): BatchMessage {
  const { ttlMs, dueAt } = draft ?? {};
  return {
    Body: body,
    BrokerProperties: {
      MessageId: id,
      ...(ttlMs === undefined ? {} : { TimeToLive: ttlMs / 1000 }),
      ...(dueAt === undefined ? {} : { ScheduledEnqueueTimeUtc: new Date(dueAt).toISOString() }),
    },
    UserProperties: { ...properties },
  };
}

function print({ ttl, dueIn, bytes }: Outgoing): string {
  const due = dueIn === undefined ? '' : `@${dueIn}`;
  return `${bytes > 100 ? 'large' : 'small'}${due}/${ttl}`.replaceAll(' ', '');
}
