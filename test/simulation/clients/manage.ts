import type { OperatorAction } from '../../../shared/broker/broker.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { entityOf, isDeadLetterPath } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import type { Numbered } from './pool.ts';
import { createEntity, settingsOf } from './wire.ts';

/** What operators and administrators do, and the sweep. */
export const manageOperations: Operations<
  'operate' | 'deleteMessages' | 'resubmit' | 'purge' | 'update' | 'recreate' | 'sweep'
> = { operate, deleteMessages, resubmit, purge, update, recreate, sweep };

function operate(client: Actor, { from, what, count }: ActionOf<'operate'>): Prepared | undefined {
  const named = chooseNumbered(client, from, what, count);
  const [first] = named;
  if (first === undefined) return undefined;
  const tags = named.map(({ tag }) => tag);
  const operation: OperatorAction =
    what === 'deadLetter' ? { kind: what, reason: 'asked for' } : { kind: what };
  if (what === 'deadLetter' && isDeadLetterPath(from)) return undefined;
  return {
    ask: async (composition) => {
      const numbers = named.map(({ sequenceNumber }) => sequenceNumber);
      const acted = await broker(composition).operate(
        pathOf(from),
        operation,
        numbers,
        first.sessionId,
      );
      return { tags, acted };
    },
    note: (heard) => answerOr(heard, { tags }),
  };
}

function chooseNumbered(
  client: Actor,
  from: string,
  what: ActionOf<'operate'>['what'],
  count: number,
): readonly Numbered[] {
  const { board, random, world } = client.parts;
  const { deferred, stored } = board.of(from);
  const known = what === 'reactivate' ? deferred : stored;
  if (known.length === 0) return [];
  const { sessionId } = random.pick(known);
  const isBySession = world.requiresSession(from) && !isDeadLetterPath(from);
  if (isBySession && sessionId === undefined) return [];
  const ofSession = isBySession ? known.filter((one) => one.sessionId === sessionId) : known;
  const first = random.below(ofSession.length);
  const chosen = ofSession.slice(first, first + count).map((one) => ({
    ...one,
    sessionId: isBySession ? one.sessionId : undefined,
  }));
  return [...new Map(chosen.map((one) => [one.sequenceNumber, one])).values()];
}

function deleteMessages(
  client: Actor,
  { from, max }: ActionOf<'deleteMessages'>,
): Prepared | undefined {
  const { world } = client.parts;
  if (world.requiresSession(from) && !isDeadLetterPath(from)) return undefined;
  return {
    ask: async (composition) => ({
      removed: await broker(composition).deleteMessages(pathOf(from), {
        maxMessages: max,
        before: composition.dependencies.clock.now(),
      }),
    }),
    note: (heard) => answerOr(heard),
  };
}

function resubmit(_client: Actor, { from, max }: ActionOf<'resubmit'>): Prepared {
  return {
    ask: async (composition) => ({
      removed: await broker(composition).resubmit(pathOf(from), max),
    }),
    note: (heard) => answerOr(heard),
  };
}

function purge(_client: Actor, { from }: ActionOf<'purge'>): Prepared {
  return {
    ask: async (composition) => {
      await broker(composition).purge(pathOf(from));
      return {};
    },
    note: (heard) => answerOr(heard),
  };
}

function update(client: Actor, { entity, lockMs }: ActionOf<'update'>): Prepared | undefined {
  const spec = client.parts.world.receivable(entity);
  if (spec === undefined) return undefined;
  return {
    ask: async ({ management }) => {
      await management.update(entity, settingsOf({ ...spec, lockMs }), '*');
      return {};
    },
    note: (heard) => answerOr(heard),
  };
}

/** Deletes an entity, and creates it anew under its name. */
function recreate(client: Actor, { entity }: ActionOf<'recreate'>): Prepared | undefined {
  const spec = client.parts.world.receivable(entityOf(entity));
  if (spec === undefined || client.parts.world.isDestination(entity)) return undefined;
  return {
    ask: async ({ management }) => {
      await management.delete(entity);
      await createEntity(management, spec);
      return {};
    },
    note: (heard) => {
      client.parts.board.forget(entity);
      return answerOr(heard);
    },
  };
}

function sweep(_client: Actor, _action: ActionOf<'sweep'>): Prepared {
  return {
    ask: async (composition) => {
      try {
        await composition.sweep();
        return {};
      } catch (error) {
        // It ends with what parts of it failed with; the next one goes on.
        if (!(error instanceof AggregateError) && !(error instanceof BrokerError)) throw error;
        return { failure: error.message };
      }
    },
    note: (heard) => answerOr(heard),
  };
}
