import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../attribute-values.ts';
import type { RandomRequest } from '../random-requests.ts';

/** Requests at the edges of what the service takes, and what it says to them. */

/** Some requests in a row, to a table of their own. */
export interface Edge {
  readonly name: string;
  /** What comes before. */
  readonly before: readonly RandomRequest[];
  readonly request: RandomRequest;
  /** The name of the exception; undefined = it is carried out. */
  readonly error?: string;
}

/** The request breaks a rule. */
export const INVALID = 'ValidationException';
/** A condition does not hold. */
export const REFUSED = 'ConditionalCheckFailedException';
/** A transaction cannot be carried out. */
export const CANCELED = 'TransactionCanceledException';
/** Every request is about this table. */
export const TableName = 'edges';
/** The largest item. */
export const ITEM_BYTES_MAX = 400 * 1024;
/** Bytes of an item of the form below that has nothing in `d`. */
const BARE_BYTES = 'pk'.length + 'a'.length + 'sk'.length + 's'.length + 'd'.length;

/** A key in the form in which the SDK sees it. */
export function key(pk: string, sk = 's'): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** So many bytes as an attribute. */
export function bytes(count: number): AttributeValue {
  return { B: new Uint8Array(count) };
}

/** An item of exactly so many bytes, under a partition key of one letter. */
export function sized(count: number, sk = 's'): Item {
  return { ...key('a', sk), d: bytes(count - BARE_BYTES) };
}

/** Writes an item. */
export function put(Item: Item, options: object = {}): RandomRequest {
  return { name: 'PutItemCommand', input: { TableName, Item, ...options } };
}

/** Changes the item of one key. */
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

/** Things of which each has a name of three digits, in order. */
export function times<Thing>(count: number, make: (name: string) => Thing): readonly Thing[] {
  return Array.from({ length: count }, (_, i) => make(String(i).padStart(3, '0')));
}

/** An edge with nothing before it. */
export function edge(name: string, request: RandomRequest, error?: string): Edge {
  return after(name, [], request, error);
}

/** An edge after some requests. */
export function after(
  name: string,
  before: readonly RandomRequest[],
  request: RandomRequest,
  error?: string,
): Edge {
  return { name, before, request, ...(error !== undefined && { error }) };
}
