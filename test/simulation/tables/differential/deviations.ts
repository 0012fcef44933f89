import type { EngineKind } from '../../../../local/engine/engine-recipes.ts';
import type { Item } from '../database.ts';
import type { Compared } from './pair.ts';

/**
 * The differences of each local engine to the service, where the simulation follows the service. Any other
 * difference between an engine and the simulation is a defect of the simulation.
 */

/** The edge cases in which an engine answers differently from the service, with the reason. */
export const EDGE_DEVIATIONS: Readonly<Record<EngineKind, Readonly<Record<string, string>>>> = {
  'dynamodb-local': {
    'a path into nothing in a transaction':
      'it refuses the request as a whole; the service cancels the transaction, with a reason for the entry',
  },
  dynoxide: {
    'a value that no expression uses': 'it checks placeholders after the condition',
    'a name that no expression uses': 'it checks placeholders after the condition',
    'a condition of 301 operators': 'it does not count operators',
    'a condition of 301 operators with bounds': 'it does not count operators',
    'a condition of 302 operators with sizes': 'it does not count operators',
    'a path into nothing': 'it removes nothing where the path leads into nothing',
    'a path into nothing in a transaction': 'it removes nothing there, too',
    'a transaction repeated under its token':
      'it counts the items of the request, not those in the table',
    'a page that ends after exactly 1 MB': 'it counts the item that no longer fitted as scanned',
    'a page of items of 400 KB': 'it leaves out the item that takes a page over 1 MB',
    'a page of items of 400 KB with a projection':
      'it leaves out the item that takes a page over 1 MB',
    'a page that begins elsewhere': 'it accepts any start of a page',
    'a page that begins before its range': 'it accepts any start of a page',
    'a page that begins behind its range': 'it accepts any start of a page',
    'a page that begins beside its prefix': 'it accepts any start of a page',
    'an order of truth values': 'it compares values that have no order',
    'an order of nothing': 'it compares values that have no order',
    'an order of maps': 'it compares values that have no order',
    'an order of lists': 'it compares values that have no order',
    'an order of sets': 'it compares values that have no order',
    'an empty bound': 'it compares with an empty sort key',
    'an empty prefix': 'it compares with an empty sort key',
  },
};

/** The commands whose consumed capacity an engine reports differently, with the reason. */
export const UNIT_DEVIATIONS: Readonly<Record<EngineKind, Readonly<Record<string, string>>>> = {
  'dynamodb-local': {
    QueryCommand: 'a query that finds nothing costs nothing there',
    BatchGetItemCommand: 'an item that does not exist costs nothing there',
    BatchWriteItemCommand: 'a deletion counts twice there',
    TransactWriteItemsCommand: 'an item that does not exist before or afterwards counts once there',
  },
  dynoxide: {},
};

/** A random request that may end differently in an engine, with the reason. */
interface Deviation {
  readonly kind: EngineKind;
  readonly reason: string;
  readonly applies: (compared: Compared) => boolean;
}

const RANDOM_DEVIATIONS: readonly Deviation[] = [
  {
    kind: 'dynamodb-local',
    reason: 'a full page that ends at the upper bound of its range has no last key there',
    applies: ({ request, simulated, engine }) => {
      const { LastEvaluatedKey: key, ...rest } = answerOf(simulated);
      return key !== undefined && isQuery(request) && areAlike(rest, answerOf(engine));
    },
  },
  {
    kind: 'dynamodb-local',
    reason: 'a page cannot begin at the upper bound of its range there',
    applies: ({ request, simulated, engine }) => {
      const { ExclusiveStartKey: start, ExpressionAttributeValues: values = {} } =
        request.input as { ExclusiveStartKey?: Item; ExpressionAttributeValues?: Item };
      const isAtBound = start !== undefined && values[':to']?.S === start['sk']?.S;
      return isAtBound && simulated.error === undefined && engine.error === 'ValidationException';
    },
  },
  {
    kind: 'dynamodb-local',
    reason: 'it checks the conditions of a transaction before it compares its keys',
    applies: ({ simulated, engine }) =>
      simulated.error === 'ValidationException' && engine.error === 'TransactionCanceledException',
  },
  {
    kind: 'dynamodb-local',
    reason: EDGE_DEVIATIONS['dynamodb-local']['a path into nothing in a transaction'] ?? '',
    applies: ({ simulated, engine }) =>
      engine.error === 'ValidationException' &&
      JSON.stringify(simulated.shown ?? '').includes('ValidationError'),
  },
  {
    kind: 'dynamodb-local',
    reason:
      'it does so too where a condition of the transaction fails, of that entry or another one',
    applies: ({ request, simulated, engine }) =>
      engine.error === 'ValidationException' &&
      simulated.error === 'TransactionCanceledException' &&
      /"UpdateExpression":"[^"]*\./.test(JSON.stringify(request.input)),
  },
  {
    kind: 'dynoxide',
    reason: 'it refuses bounds in the wrong order as an error of one entry of a transaction',
    applies: ({ request, simulated, engine }) =>
      simulated.error === 'ValidationException' &&
      engine.error === 'TransactionCanceledException' &&
      JSON.stringify(request.input).includes('BETWEEN'),
  },
  {
    kind: 'dynoxide',
    reason: 'an update that creates an item returns its key as the old item',
    applies: ({ request: { name }, simulated, engine }) => {
      const { Attributes, ...rest } = answerOf(engine);
      const keys = (Attributes as readonly (readonly [string, unknown])[] | undefined) ?? [];
      const isKey = keys.length === 2 && keys.every(([attribute]) => /^[ps]k$/.test(attribute));
      return name === 'UpdateItemCommand' && isKey && areAlike(answerOf(simulated), rest);
    },
  },
  {
    kind: 'dynoxide',
    reason: EDGE_DEVIATIONS.dynoxide['a page that begins elsewhere'] ?? '',
    applies: ({ request, simulated }) =>
      isQuery(request) &&
      'ExclusiveStartKey' in request.input &&
      simulated.error === 'ValidationException',
  },
  {
    kind: 'dynoxide',
    reason: EDGE_DEVIATIONS.dynoxide['a page of items of 400 KB'] ?? '',
    applies: ({ request, simulated }) =>
      isQuery(request) && !('Limit' in request.input) && 'LastEvaluatedKey' in answerOf(simulated),
  },
];

/** Why an engine's different outcome is not a defect of the simulation; undefined = it is one. */
export function deviation(kind: EngineKind, compared: Compared): string | undefined {
  const { simulated, engine } = compared;
  const isSame =
    areAlike({ ...simulated, units: 0 }, { ...engine, units: 0 }) &&
    UNIT_DEVIATIONS[kind][compared.request.name];
  if (isSame) return isSame;
  return RANDOM_DEVIATIONS.find((each) => each.kind === kind && each.applies(compared))?.reason;
}

function isQuery({ name }: Compared['request']): boolean {
  return name === 'QueryCommand';
}

function answerOf({ answer }: Compared['simulated']): Readonly<Record<string, unknown>> {
  return (answer ?? {}) as Readonly<Record<string, unknown>>;
}

/** Whether two values have the same JSON. */
export function areAlike(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
