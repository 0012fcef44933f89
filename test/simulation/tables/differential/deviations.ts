import type { EngineKind } from '../../../../local/engine/engine-recipes.ts';
import type { Item } from '../database.ts';
import type { Compared } from './pair.ts';

/**
 * Where a local engine differs from the service, and the simulation follows the service. Everything else that differs
 * is a fault of the simulation.
 */

/** What an engine says at an edge, with the reason why that is not the service's answer. */
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
    'a path into nothing in a transaction': 'the same',
    'a transaction again, by its token':
      'it counts the items of the request, not those in the table',
    'a page that ends after exactly 1 MB': 'it counts the item that no longer fitted as scanned',
    'a page of items of 400 KB': 'it leaves out the item that takes a page over 1 MB',
    'a page of which little is shown': 'it leaves out the item that takes a page over 1 MB',
    'a page that begins elsewhere': 'it takes any start of a page',
    'a page that begins before its range': 'it takes any start of a page',
    'a page that begins behind its range': 'it takes any start of a page',
    'a page that begins beside its prefix': 'it takes any start of a page',
    'an empty bound': 'it compares with an empty sort key',
    'an empty prefix': 'it compares with an empty sort key',
  },
};

/** Requests of which an engine does not report what they cost, by command, with the reason. */
export const UNIT_DEVIATIONS: Readonly<Record<EngineKind, Readonly<Record<string, string>>>> = {
  'dynamodb-local': {
    QueryCommand: 'a query that finds nothing costs nothing there',
    BatchGetItemCommand: 'an item that is not there costs nothing there',
    BatchWriteItemCommand: 'a deletion counts twice there',
    TransactWriteItemsCommand: 'an item that is not there before or afterwards counts once there',
  },
  dynoxide: {},
};

/** How a random request may end differently in an engine, and why. */
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
    reason: 'it checks the conditions of a transaction before it looks whether keys differ',
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
    reason: 'it refuses bounds in the wrong order as the fault of one entry of a transaction',
    applies: ({ request, simulated, engine }) =>
      simulated.error === 'ValidationException' &&
      engine.error === 'TransactionCanceledException' &&
      JSON.stringify(request.input).includes('BETWEEN'),
  },
  {
    kind: 'dynoxide',
    reason: 'an update that makes an item shows its key as the old item',
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

/** Why an engine's different outcome is no fault of the simulation; undefined = it is one. */
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

/** Whether two things look the same as JSON. */
export function areAlike(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
