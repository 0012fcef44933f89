import { assert } from '../../domain/assert.ts';
import { locationIn } from '../../domain/blocks/lock-token.ts';
import type { EntityPath } from '../../domain/entities/entity-path.ts';
import { LIMITS as SERVICE_LIMITS } from '../../domain/limits.ts';
import type { Scheduler } from '../../domain/scheduler.ts';
import type { Broker, RenewalOutcome, Settlement, SettlementOutcome } from '../broker.ts';
import type { BrokerDependencies } from '../dependencies.ts';
import type { OnOutcome } from '../ports/messages.ts';
import { renewLocks, settle } from '../settle/settle.ts';
import { type Call, type GroupLimits, type LaneOfGroup, Lanes } from './lanes.ts';

/** A call with more items than this goes alone: it has little to gain from company. */
const JOIN_MAX = 25;
/** An item is a lock token with an action; its properties are bounded by the limits of a message. */
const LIMITS: GroupLimits = { calls: 500, messages: 500, bytes: Number.POSITIVE_INFINITY };
/** How long settlements wait for more of them while they keep coming, ms. */
const LINGER_MS_MAX = 8;

/** Works on items of one entity. */
type Verb<Item, Outcome> = (
  path: EntityPath,
  items: readonly Item[],
  sessionId: string | undefined,
  onOutcome?: OnOutcome<Outcome>,
) => Promise<readonly Outcome[]>;

/** Some items of one entity, and how to work on them. */
interface ItemsRequest<Item, Outcome> {
  readonly items: readonly Item[];
  /** Which messages the items name, all different. */
  readonly locations: readonly string[];
  /** The same work for all requests of a lane. */
  readonly work: (
    items: readonly Item[],
    onOutcome: OnOutcome<Outcome>,
  ) => Promise<readonly Outcome[]>;
}

type ItemsCall<Item, Outcome> = Call<ItemsRequest<Item, Outcome>, readonly Outcome[]>;

/**
 * `Broker.settle` and `Broker.renewLocks`, in which calls that arrive together for one entity, or one session, become
 * one call. Each item has an outcome of its own already, so nobody gets another's, and nobody waits for another's
 * block. Completes do not wait for settlements that move messages, which take longer.
 */
export function groupedSettlements(
  dependencies: BrokerDependencies & { readonly scheduler: Scheduler },
): Pick<Broker, 'settle' | 'renewLocks'> {
  const settling = groupItems(
    dependencies.scheduler,
    (...call: Parameters<Verb<Settlement, SettlementOutcome>>) => settle(dependencies, ...call),
    ({ lockToken }) => lockToken,
  );
  const renewing = groupItems(
    dependencies.scheduler,
    (path, lockTokens: readonly string[], _, onOutcome?: OnOutcome<RenewalOutcome>) =>
      renewLocks(dependencies, path, lockTokens, onOutcome),
    (lockToken) => lockToken,
  );
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
  verb: Verb<Item, Outcome>,
  tokenOf: (item: Item) => string,
) {
  const lanes = new Lanes<ItemsRequest<Item, Outcome>, readonly Outcome[]>(scheduler, {
    limits: LIMITS,
    patience: 1,
    lingerMsMax: LINGER_MS_MAX,
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
    const hasFew = items.length > 0 && items.length <= JOIN_MAX;
    if (!hasFew || isRefused) return verb(path, items, sessionId);
    const locations = items.map((item) => locationIn(tokenOf(item)));
    if (new Set(locations).size < items.length) return verb(path, items, sessionId);
    const key = JSON.stringify([path.key, path.subQueue, sessionId, kind]);
    const work: ItemsRequest<Item, Outcome>['work'] = (all, onOutcome) =>
      verb(path, all, sessionId, onOutcome);
    const request = { items, locations, work };
    return lanes.join(key, request, { messages: items.length, bytes: 0 });
  };
}

/**
 * Works on the items of all calls at once, and answers each call when it has the outcomes of its own. Calls that name a
 * message which an earlier one names are left for the next group, since such items are worked on one after the other.
 */
async function carryOut<Item, Outcome>(
  all: readonly ItemsCall<Item, Outcome>[],
  lane: LaneOfGroup<ItemsRequest<Item, Outcome>, readonly Outcome[]>,
): Promise<void> {
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
  if (first === undefined) return;
  lane.again(left);
  const answers = calls.map((call) => new Answer(call));
  const items = answers.flatMap((answer) =>
    answer.call.request.items.map((item, place) => ({ answer, item, place })),
  );
  try {
    const outcomes = await first.request.work(
      items.map(({ item }) => item),
      (index, outcome) => items[index]?.answer.add(items[index].place, outcome),
    );
    for (const [index, { answer, place }] of items.entries()) {
      const outcome = outcomes[index];
      assert(outcome !== undefined, 'every item has an outcome');
      answer.add(place, outcome);
    }
  } catch (error) {
    for (const call of calls) call.reject(error);
  }
}

/** The outcomes of one call, which is answered when all are known. */
class Answer<Item, Outcome> {
  readonly call: ItemsCall<Item, Outcome>;
  /** By place in the call. */
  readonly #outcomes = new Map<number, Outcome>();

  constructor(call: ItemsCall<Item, Outcome>) {
    this.call = call;
  }

  /** Adds the outcome of an item, by its place in the call; adding it again changes nothing. */
  add(place: number, outcome: Outcome): void {
    this.#outcomes.set(place, outcome);
    const { length } = this.call.request.items;
    if (this.#outcomes.size < length) return;
    const inOrder = [...this.#outcomes].sort(([a], [b]) => a - b);
    this.call.resolve(inOrder.map(([, one]) => one));
  }
}
