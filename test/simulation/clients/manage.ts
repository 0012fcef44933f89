import type { OperatorAction } from '../../../shared/broker/broker.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { entityOf, isDeadLetterPath } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import type { Numbered } from './client-state.ts';
import {
  type ActionOf,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import { createEntity, settingsOf } from './wire.ts';

/** Operations of operators and administrators, and the sweep. */
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
    run: async (composition) => {
      const numbers = named.map(({ sequenceNumber }) => sequenceNumber);
      const acted = await broker(composition).operate(
        pathOf(from),
        operation,
        numbers,
        first.sessionId,
      );
      return { tags, acted };
    },
    record: (result) => answerOr(result, { tags }),
  };
}

function chooseNumbered(
  client: Actor,
  from: string,
  what: ActionOf<'operate'>['what'],
  count: number,
): readonly Numbered[] {
  const { registry, random, world } = client.context;
  const { deferred, stored } = registry.of(from);
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
  const { world } = client.context;
  if (world.requiresSession(from) && !isDeadLetterPath(from)) return undefined;
  return {
    run: async (composition) => ({
      removed: await broker(composition).deleteMessages(pathOf(from), {
        maxMessages: max,
        before: composition.dependencies.clock.now(),
      }),
    }),
    record: (result) => answerOr(result),
  };
}

function resubmit(_client: Actor, { from, max }: ActionOf<'resubmit'>): Prepared {
  return {
    run: async (composition) => ({
      removed: await broker(composition).resubmit(pathOf(from), { maxMessages: max }),
    }),
    record: (result) => answerOr(result),
  };
}

function purge(_client: Actor, { from }: ActionOf<'purge'>): Prepared {
  return {
    run: async (composition) => {
      await broker(composition).purge(pathOf(from));
      return {};
    },
    record: (result) => answerOr(result),
  };
}

function update(client: Actor, { entity, lockMs }: ActionOf<'update'>): Prepared | undefined {
  const spec = client.context.world.receivable(entity);
  if (spec === undefined) return undefined;
  return {
    run: async ({ management }) => {
      await management.update(entity, settingsOf({ ...spec, lockMs }), '*');
      return {};
    },
    record: (result) => answerOr(result),
  };
}

/** Deletes an entity and creates it again. */
function recreate(client: Actor, { entity }: ActionOf<'recreate'>): Prepared | undefined {
  const spec = client.context.world.receivable(entityOf(entity));
  if (spec === undefined || client.context.world.isDestination(entity)) return undefined;
  return {
    run: async ({ management }) => {
      await management.delete(entity);
      await createEntity(management, spec);
      return {};
    },
    record: (result) => {
      client.context.registry.forget(entity);
      return answerOr(result);
    },
  };
}

function sweep(_client: Actor, _action: ActionOf<'sweep'>): Prepared {
  return {
    run: async (composition) => {
      try {
        await composition.sweep();
        return {};
      } catch (error) {
        // A sweep throws the errors of its parts at its end; the next sweep continues.
        if (!(error instanceof AggregateError) && !(error instanceof BrokerError)) throw error;
        return { failure: error.message };
      }
    },
    record: (result) => answerOr(result),
  };
}
