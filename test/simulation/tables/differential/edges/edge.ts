import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../attribute-values.ts';
import type { RandomRequest } from '../random-requests.ts';

/** Requests at the limits of the service, and their outcomes. */

/** A request at a limit, with preparing requests, on its own table. */
export interface Edge {
  readonly name: string;
  /** The preparing requests. */
  readonly before: readonly RandomRequest[];
  readonly request: RandomRequest;
  /** The name of the exception; undefined = the request succeeds. */
  readonly error?: string;
}

/** The request breaks a rule. */
export const INVALID = 'ValidationException';
/** A condition does not hold. */
export const REFUSED = 'ConditionalCheckFailedException';
/** A transaction is cancelled. */
export const CANCELED = 'TransactionCanceledException';
/** The table of all requests. */
export const TableName = 'edges';
/** The largest item. */
export const ITEM_BYTES_MAX = 400 * 1024;
/** Bytes of an item of `sized` with an empty `d`. */
const BARE_BYTES = 'pk'.length + 'a'.length + 'sk'.length + 's'.length + 'd'.length;

/** A key in the form in which the SDK sees it. */
export function key(pk: string, sk = 's'): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** An attribute of a given size, in bytes. */
export function bytes(count: number): AttributeValue {
  return { B: new Uint8Array(count) };
}

/** An item of exactly `count` bytes, with a partition key of one letter. */
export function sized(count: number, sk = 's'): Item {
  return { ...key('a', sk), d: bytes(count - BARE_BYTES) };
}

/** Writes an item. */
export function put(Item: Item, options: object = {}): RandomRequest {
  return { name: 'PutItemCommand', input: { TableName, Item, ...options } };
}

/** Updates an item. */
export function update(
  UpdateExpression: string,
  options: object = {},
  Key = key('a'),
): RandomRequest {
  return { name: 'UpdateItemCommand', input: { TableName, Key, UpdateExpression, ...options } };
}

/** A text as the value of an expression. */
export const x = { ':x': { S: 'x' } };
/** A number as the value of an expression. */
export const one = { ':x': { N: '1' } };

/** Calls `make` with names of three digits, in order; returns the results. */
export function times<Value>(count: number, make: (name: string) => Value): readonly Value[] {
  return Array.from({ length: count }, (_, i) => make(String(i).padStart(3, '0')));
}

/** An edge without preparing requests. */
export function edge(name: string, request: RandomRequest, error?: string): Edge {
  return after(name, [], request, error);
}

/** An edge with preparing requests. */
export function after(
  name: string,
  before: readonly RandomRequest[],
  request: RandomRequest,
  error?: string,
): Edge {
  return { name, before, request, ...(error !== undefined && { error }) };
}
