import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { keyConditionOf } from '../tables/expressions.ts';
import type { NetworkRequest } from '../tables/network.ts';
import { textOrder } from '../tables/text-order.ts';

/** A range of items that a request reads or writes: one collection, between two sort keys, both included. */
interface Access {
  readonly collection: string;
  readonly from: string;
  readonly to: string;
  readonly isWrite: boolean;
}

/** The items that a request reads or writes. */
export type Footprint = readonly Access[];

/** Whether one request writes items that the other one reads or writes, so that their order can matter. */
export function areInConflict(a: Footprint, b: Footprint): boolean {
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

/** The footprint of a write that changed nothing. */
export function asRead(footprint: Footprint): Footprint {
  return footprint.map((access) => ({ ...access, isWrite: false }));
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

/** The largest possible footprint of a request, as if its condition held. */
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
        accessOf(one.TableName, one.Key ?? one.Item, kind !== 'ConditionCheck'),
      ),
    );
  }
  if (request.RequestItems !== undefined) {
    return Object.entries(request.RequestItems).flatMap(([table, batch]) =>
      'Keys' in batch
        ? batch.Keys.map((key) => accessOf(table, key, false))
        : batch.map((one) => accessOf(table, one.PutRequest?.Item ?? one.DeleteRequest?.Key, true)),
    );
  }
  const isWrite = name !== 'GetItemCommand';
  return [accessOf(request.TableName, request.Key ?? request.Item, isWrite)];
}

function accessOf(table: string | undefined, key: Key | undefined, isWrite: boolean): Access {
  const order = textOrder(key?.['sk']?.S ?? '');
  return { collection: `${table} ${key?.['pk']?.S}`, from: order, to: order, isWrite };
}
