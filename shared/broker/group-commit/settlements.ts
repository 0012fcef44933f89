import { locationIn } from '../../domain/blocks/lock-token.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS as SERVICE_LIMITS } from '../../domain/limits.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { Broker } from '../broker.ts';
import { type Call, type GroupLimits, Lanes } from './lanes.ts';

/** A call with more items than this goes alone: it has little to gain from company. */
const JOIN_MAX = 25;
/** An item is a lock token with an action; its properties are bounded by the limits of a message. */
const LIMITS: GroupLimits = { calls: 500, messages: 500, bytes: Number.POSITIVE_INFINITY };

/** Some items of one entity, and how to work on them. */
interface ItemsRequest<Item, Outcome> {
  readonly items: readonly Item[];
  /** Which messages the items name, all different. */
  readonly locations: readonly string[];
  /** The same work for all requests of a lane. */
  readonly work: (items: readonly Item[]) => Promise<readonly Outcome[]>;
}

type ItemsCall<Item, Outcome> = Call<ItemsRequest<Item, Outcome>, readonly Outcome[]>;

/**
 * `Broker.settle` and `Broker.renewLocks`, in which calls that arrive together for one entity, or one session, become
 * one call. Each item has an outcome of its own already, so nobody gets another's. Completes do not wait for
 * settlements that move messages, which take longer.
 */
export function groupedSettlements(
  scheduler: Scheduler,
  { settle, renewLocks }: Pick<Broker, 'settle' | 'renewLocks'>,
): Pick<Broker, 'settle' | 'renewLocks'> {
  const settling = groupItems(scheduler, settle, ({ lockToken }) => lockToken);
  const renewing = groupItems(scheduler, renewLocks, (lockToken) => lockToken);
  return {
    settle: (path, settlements, sessionId) => {
      const isComplete = settlements.every(({ action }) => action.kind === 'complete');
      return settling(path, settlements, sessionId, isComplete ? 'complete' : 'other');
    },
    renewLocks: (path, lockTokens) => renewing(path, lockTokens, undefined, 'renew'),
  };
}

function groupItems<Item, Outcome>(
  scheduler: Scheduler,
  verb: (
    path: EntityPath,
    items: readonly Item[],
    sessionId?: string,
  ) => Promise<readonly Outcome[]>,
  tokenOf: (item: Item) => string,
) {
  const lanes = new Lanes<ItemsRequest<Item, Outcome>, readonly Outcome[]>(scheduler, {
    limits: LIMITS,
    patience: 1,
    lingers: true,
    carryOut,
  });
  return (
    path: EntityPath,
    items: readonly Item[],
    sessionId: string | undefined,
    kind: string,
  ): Promise<readonly Outcome[]> => {
    // A session id that is too long is refused, and must not be remembered.
    const isRefused = sessionId !== undefined && sessionId.length > SERVICE_LIMITS.idLength;
    if (items.length > JOIN_MAX || isRefused) return verb(path, items, sessionId);
    const locations = items.map((item) => locationIn(tokenOf(item)));
    if (new Set(locations).size < items.length) return verb(path, items, sessionId);
    const key = JSON.stringify([path.key, path.subQueue, sessionId, kind]);
    const work = (all: readonly Item[]) => verb(path, all, sessionId);
    const request = { items, locations, work };
    return lanes.join(key, request, { messages: items.length, bytes: 0 });
  };
}

/**
 * Works on the items of all calls at once, and gives each call its own outcomes. Calls that name a message which an
 * earlier one names are left for the next group, since such items are worked on one after the other.
 */
async function carryOut<Item, Outcome>(
  all: readonly ItemsCall<Item, Outcome>[],
): Promise<readonly ItemsCall<Item, Outcome>[]> {
  const seen = new Set<string>();
  const calls: ItemsCall<Item, Outcome>[] = [];
  const left: ItemsCall<Item, Outcome>[] = [];
  for (const call of all) {
    const { locations } = call.request;
    if (locations.some((location) => seen.has(location))) {
      left.push(call);
      continue;
    }
    for (const location of locations) seen.add(location);
    calls.push(call);
  }
  const [first] = calls;
  if (first === undefined) return left;
  try {
    const outcomes = await first.request.work(calls.flatMap(({ request }) => request.items));
    let next = 0;
    for (const call of calls) {
      const end = next + call.request.items.length;
      call.resolve(outcomes.slice(next, end));
      next = end;
    }
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
  return left;
}
