import { type GroupLimits, Lanes } from '../broker/group-commit/lanes.ts';
import type { Patience } from '../broker/group-commit/pace.ts';
import type { Scheduler } from '../domain/scheduler.ts';
import { type ItemRequests, singleRequests } from '../storage/dynamodb/item-requests.ts';
import {
  type Item,
  type ItemKey,
  keyItem,
  keyOfItem,
  type Table,
} from '../storage/dynamodb/table.ts';

/** As many items as one request of DynamoDB takes. */
const READS_MAX = 100;
const WRITES_MAX = 25;
/** Somebody waits for the answer. */
const PROMPT: Patience = { patience: 0.5 };
/** Nobody waits for the removal of what is not needed any more. */
const UNHURRIED: Patience = { patience: 1, lingers: true };

/**
 * Requests of calls that arrive together become one request to DynamoDB, as the groups of `Lanes`: a lone call is sent
 * at once, and a group that takes long holds up nobody. A failure of a group is that of each of its calls.
 */
export function sharedRequests(table: Table, scheduler: Scheduler): ItemRequests {
  const single = singleRequests(table);
  const share = <Outcome>(...group: Shared<Outcome>) => sharing(scheduler, ...group);
  return {
    get: share(READS_MAX, PROMPT, single.get, async (keys) => {
      const items = await table.getMany(keys, { consistent: true });
      const found = new Map<string, Item>(items.map((item) => [nameOf(keyOfItem(item)), item]));
      return (key) => found.get(nameOf(key));
    }),
    putKey: share(WRITES_MAX, PROMPT, single.putKey, async (keys) => {
      await table.putMany(keys.map(keyItem));
      return () => undefined;
    }),
    delete: share(WRITES_MAX, UNHURRIED, single.delete, async (keys) => {
      await table.deleteMany(keys);
      return () => undefined;
    }),
  };
}

/** How calls share requests: their number and patience, the request of one, and that of several different keys. */
type Shared<Outcome> = readonly [
  max: number,
  patience: Patience,
  one: (key: ItemKey) => Promise<Outcome>,
  several: (keys: readonly ItemKey[]) => Promise<(key: ItemKey) => Outcome>,
];

function sharing<Outcome>(
  scheduler: Scheduler,
  ...[max, patience, one, several]: Shared<Outcome>
): (key: ItemKey) => Promise<Outcome> {
  const limits: GroupLimits = { calls: max, messages: max, bytes: Number.POSITIVE_INFINITY };
  const lanes = new Lanes<ItemKey, Outcome>(scheduler, {
    limits,
    ...patience,
    carryOut: async (calls) => {
      // DynamoDB refuses a request that names an item twice.
      const keys = new Map(calls.map(({ request }) => [nameOf(request), request]));
      const [only] = keys.values();
      try {
        if (keys.size === 1 && only !== undefined) {
          const outcome = await one(only);
          for (const call of calls) call.resolve(outcome);
          return;
        }
        const outcomeOf = await several([...keys.values()]);
        for (const call of calls) call.resolve(outcomeOf(call.request));
      } catch (error) {
        for (const call of calls) call.reject(error);
      }
    },
  });
  return (key) => lanes.join('', key, { messages: 1, bytes: 0 });
}

function nameOf({ pk, sk }: ItemKey): string {
  return `${pk}\0${sk}`;
}
