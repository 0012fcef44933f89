import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { keyConditionOf } from '../tables/expressions.ts';
import type { NetworkRequest } from '../tables/network.ts';
import { textOrder } from '../tables/text-order.ts';

/** Items that a request reads or writes: those of one collection between two sort keys, both included. */
interface Touch {
  readonly collection: string;
  readonly from: string;
  readonly to: string;
  readonly isWrite: boolean;
}

/** All that a request touches. */
export type Footprint = readonly Touch[];

/** Whether the order of two requests can matter to the tables: one writes what the other touches. */
export function meet(a: Footprint, b: Footprint): boolean {
  return a.some((one) =>
    b.some(
      (other) =>
        (one.isWrite || other.isWrite) &&
        one.collection === other.collection &&
        one.from <= other.to &&
        other.from <= one.to,
    ),
  );
}

/** What a request touched that has changed nothing. */
export function asRead(footprint: Footprint): Footprint {
  return footprint.map((touch) => ({ ...touch, isWrite: false }));
}

interface Input {
  readonly TableName?: string;
  readonly Key?: Key;
  readonly Item?: Key;
  readonly KeyConditionExpression?: string;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
  readonly TransactItems?: readonly Readonly<Record<string, Input>>[];
  readonly RequestItems?: Readonly<Record<string, BatchTable>>;
}

type Key = Readonly<Record<string, AttributeValue>>;
type BatchTable =
  | { readonly Keys: readonly Key[] }
  | readonly { readonly PutRequest?: { Item: Key }; readonly DeleteRequest?: { Key: Key } }[];

/** What a request touches, at most: whether its condition holds is not considered. */
export function footprintOf({ name, input }: Pick<NetworkRequest, 'name' | 'input'>): Footprint {
  const request = input as Input;
  if (request.KeyConditionExpression !== undefined) {
    const values = request.ExpressionAttributeValues ?? {};
    const { pk, from, to } = keyConditionOf(request.KeyConditionExpression).meaning(values);
    return [{ collection: `${request.TableName} ${pk}`, from, to, isWrite: false }];
  }
  if (request.TransactItems !== undefined) {
    return request.TransactItems.flatMap((entry) =>
      Object.entries(entry).map(([kind, one]) =>
        touchOf(one.TableName, one.Key ?? one.Item, kind !== 'ConditionCheck'),
      ),
    );
  }
  if (request.RequestItems !== undefined) {
    return Object.entries(request.RequestItems).flatMap(([table, batch]) =>
      'Keys' in batch
        ? batch.Keys.map((key) => touchOf(table, key, false))
        : batch.map((one) => touchOf(table, one.PutRequest?.Item ?? one.DeleteRequest?.Key, true)),
    );
  }
  const isWrite = name !== 'GetItemCommand';
  return [touchOf(request.TableName, request.Key ?? request.Item, isWrite)];
}

function touchOf(table: string | undefined, key: Key | undefined, isWrite: boolean): Touch {
  const order = textOrder(key?.['sk']?.S ?? '');
  return { collection: `${table} ${key?.['pk']?.S}`, from: order, to: order, isWrite };
}
