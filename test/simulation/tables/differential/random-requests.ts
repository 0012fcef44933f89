import type { AttributeValue, TransactWriteItem, WriteRequest } from '@aws-sdk/client-dynamodb';
import type { LoadRandom } from '../../../support/load-random.ts';
import type { Item } from '../attribute-values.ts';
import type { Shape } from '../corpus/shapes.ts';
import type { AttributeTypes } from '../corpus/value-types.ts';
import { conditionOf } from '../expressions.ts';
import { type ItemKey, keyItem } from '../item-keys.ts';
import { storableItem } from '../storable-values.ts';
import type { WriteInput } from '../writes.ts';
import { fittingValue } from './fitting-values.ts';
import { randomItem, randomValue } from './random-values.ts';

/** A request to send. */
export interface RandomRequest {
  /** The name of the SDK's command. */
  readonly name: string;
  readonly input: object;
}

/** Few keys, so that requests often use the same item. UTF-8 and UTF-16 order some sort keys differently. */
const PARTITION_KEYS = ['one', 'two', 'thr/33'] as const;
const SORT_KEYS = ['a', 'b0', 'b1', 'b1!', '/s/b0', '/\u{1f600}/b', '/\uffee/b', 'é', 'z'] as const;
/** Single requests; puts and updates are more frequent, so that items exist. */
const KINDS = [
  ...(['PutItemCommand', 'PutItemCommand', 'UpdateItemCommand', 'UpdateItemCommand'] as const),
  ...(['DeleteItemCommand', 'GetItemCommand', 'QueryCommand'] as const),
] as const;
/** Entries of transactions. */
const ENTRY_KINDS = ['Put', 'Put', 'Update', 'Update', 'Delete', 'ConditionCheck'] as const;
const CHANCE = {
  transaction: 0.15,
  batch: 0.1,
  repeatedKey: 0.03,
  fitting: 0.75,
  aimed: 0.7,
} as const;
const ENTRIES_MAX = 5;
const LIMIT_MAX = 4;
const AIMS_MAX = 20;

/** Draws requests of the recorded shapes. */
export class RandomRequests {
  readonly #random: LoadRandom;
  readonly #shapes: readonly Shape[];
  readonly #tables: readonly [string, ...string[]];
  readonly #stored: (table: string, key: ItemKey) => Item | undefined;

  constructor(settings: {
    readonly random: LoadRandom;
    readonly shapes: readonly Shape[];
    readonly tables: readonly [string, ...string[]];
    /** The item under a key, to which drawn values are fitted. */
    readonly stored: (table: string, key: ItemKey) => Item | undefined;
  }) {
    this.#random = settings.random;
    this.#shapes = settings.shapes;
    this.#tables = settings.tables;
    this.#stored = settings.stored;
  }

  /** The next request. */
  next(): RandomRequest {
    const random = this.#random;
    if (random.chance(CHANCE.transaction)) return this.#transaction();
    if (random.chance(CHANCE.batch)) return random.chance(0.5) ? this.#gets() : this.#writes();
    const shape = this.#shape('alone', random.pick(KINDS));
    return { name: shape.kind, input: this.#aimed(shape, new Set()) };
  }

  #transaction(): RandomRequest {
    const taken = new Set<string>();
    const count = this.#random.between(1, ENTRIES_MAX);
    const TransactItems = Array.from({ length: count }, (): TransactWriteItem => {
      const shape = this.#shape('transaction', this.#random.pick(ENTRY_KINDS));
      return { [shape.kind]: this.#aimed(shape, taken) };
    });
    const token = this.#random.next().toString(36).slice(2);
    return {
      name: 'TransactWriteItemsCommand',
      input: { TransactItems, ClientRequestToken: token, ReturnConsumedCapacity: 'TOTAL' },
    };
  }

  #gets(): RandomRequest {
    const { fields } = this.#shape('batch', 'Get');
    const Keys = this.#keys(ENTRIES_MAX).map(keyItem);
    return this.#batch('BatchGetItemCommand', { ...fields, Keys });
  }

  #writes(): RandomRequest {
    const requests = this.#keys(ENTRIES_MAX).map((key): WriteRequest => {
      const shape = this.#shape('batch', this.#random.chance(0.5) ? 'Put' : 'Delete');
      const { Item = {}, Key = {} } = this.#filled(shape, '', key) as { Item?: Item; Key?: Item };
      return shape.kind === 'Put' ? { PutRequest: { Item } } : { DeleteRequest: { Key } };
    });
    return this.#batch('BatchWriteItemCommand', requests);
  }

  /**
   * A request of a shape for an item that is not in `taken`, which it is added to. Most requests are aimed:
   * the first one whose condition holds is chosen from several draws, because few random conditions hold.
   */
  #aimed(shape: Shape, taken: Set<string>): object {
    const random = this.#random;
    for (let left = random.chance(CHANCE.aimed) ? AIMS_MAX : 1; ; left--) {
      const table = random.pick(this.#tables);
      const key = this.#key();
      const place = `${table} ${key.pk} ${key.sk}`;
      const isFree = !taken.has(place) || random.chance(CHANCE.repeatedKey);
      const input = this.#filled(shape, table, key);
      if (isFree && (left <= 1 || holds(input, this.#stored(table, key)))) {
        taken.add(place);
        return input;
      }
    }
  }

  #batch(name: string, request: object): RandomRequest {
    const RequestItems = { [this.#random.pick(this.#tables)]: request };
    return { name, input: { RequestItems, ReturnConsumedCapacity: 'TOTAL' } };
  }

  /** A request of a shape, with drawn values. */
  #filled({ kind, fields, values, item }: Shape, TableName: string, key: ItemKey): object {
    if (kind === 'QueryCommand') return this.#query(fields, values ?? {}, TableName, key);
    const about =
      item === undefined
        ? { Key: keyItem(key) }
        : { Item: { ...randomItem(this.#random, item), ...keyItem(key) } };
    const stored = this.#stored(TableName, key);
    const given = Object.entries(values ?? {}).map(([name, types]) => {
      const fitting = this.#random.chance(CHANCE.fitting)
        ? fittingValue(this.#random, { name, types, fields, stored })
        : undefined;
      return [name, fitting ?? randomValue(this.#random, types)] as const;
    });
    return {
      ...fields,
      ...about,
      ...(TableName !== '' && { TableName }),
      ...(values !== undefined && { ExpressionAttributeValues: Object.fromEntries(given) }),
    };
  }

  /** A query, in whose key condition the first value is the partition key and all others are sort keys. */
  #query(
    fields: Shape['fields'],
    values: AttributeTypes,
    TableName: string,
    { pk, sk }: ItemKey,
  ): object {
    const random = this.#random;
    const [first = '', ...others] = Object.keys(values);
    const bounds = others.map((): AttributeValue => ({ S: random.pick(SORT_KEYS) }));
    if (random.chance(CHANCE.fitting)) bounds.sort((a, b) => ((a.S ?? '') < (b.S ?? '') ? -1 : 1));
    const given = others.map((name, i) => [name, bounds[i] as AttributeValue] as const);
    return {
      ...fields,
      TableName,
      ExpressionAttributeValues: { [first]: { S: pk }, ...Object.fromEntries(given) },
      ...(fields['Limit'] === true && { Limit: random.between(1, LIMIT_MAX) }),
      ...(fields['ExclusiveStartKey'] === true && { ExclusiveStartKey: keyItem({ pk, sk }) }),
    };
  }

  #shape(sentIn: Shape['sentIn'], kind: string): Shape {
    const all = this.#shapes.filter((shape) => shape.sentIn === sentIn && shape.kind === kind);
    const others = all.filter((shape) => !isOfSlots(shape));
    const wanted = others.length > 0 && this.#random.chance(0.5) ? others : all;
    const shape = wanted[this.#random.below(wanted.length)];
    if (shape === undefined) throw new Error(`The corpus holds no ${kind} (${sentIn}).`);
    return shape;
  }

  #key(): ItemKey {
    return { pk: this.#random.pick(PARTITION_KEYS), sk: this.#random.pick(SORT_KEYS) };
  }

  /** Different keys, with a small chance of one twice. */
  #keys(max: number): readonly ItemKey[] {
    const keys = new Map<string, ItemKey>();
    for (let count = this.#random.between(1, max); count > 0; count--) {
      const key = this.#key();
      keys.set(`${key.pk} ${key.sk}`, key);
    }
    const [first, ...others] = keys.values();
    if (first === undefined) return [];
    const isTwice = this.#random.chance(CHANCE.repeatedKey);
    return isTwice ? [first, ...others, first] : [first, ...others];
  }
}

/** Whether a shape changes slots of a block; most do, so others are drawn separately. */
function isOfSlots({ fields }: Shape): boolean {
  return String(fields['ConditionExpression'] ?? '').includes('#_');
}

/** Whether a request has no condition, or one that holds for an item. */
function holds(input: object, stored: Item | undefined): boolean {
  const { ConditionExpression: condition, ...given } = input as WriteInput;
  if (condition === undefined) return true;
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = given;
  return conditionOf(condition).meaning(stored, { names, values: storableItem(values) });
}
