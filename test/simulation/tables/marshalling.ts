import type { AttributeValue, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { Item } from './attribute-values.ts';

/** The options of the product for the SDK's document client. */
const OPTIONS = { removeUndefinedValues: true } as const;

/** Fields of requests and answers that hold attributes. */
const OF_REQUESTS = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey'];
const OF_ANSWERS = ['Item', 'Attributes', 'LastEvaluatedKey'];

/** The marshalled request of a document command. */
export function marshallRequest(input: object): object {
  const { TransactItems: entries, RequestItems: keys } = input as {
    readonly TransactItems?: readonly TransactWriteItem[];
    readonly RequestItems?: Readonly<Record<string, { readonly Keys: readonly object[] }>>;
  };
  if (keys !== undefined) return { ...input, RequestItems: ofTables(keys, marshallKeys) };
  if (entries === undefined) return converted(input, OF_REQUESTS, marshallItem);
  const TransactItems = entries.map((entry) =>
    converted(entry, Object.keys(entry), (part) => converted(part, OF_REQUESTS, marshallItem)),
  );
  return { ...input, TransactItems };
}

/** An answer of the database in plain values. */
export function unmarshallAnswer(answer: object): object {
  const plain = converted(answer, OF_ANSWERS, (item) => unmarshall(item as Item));
  const { Items, Responses } = answer as {
    readonly Items?: readonly Item[];
    readonly Responses?: Readonly<Record<string, readonly Item[]>>;
  };
  if (Responses !== undefined) return unmarshallBatch(answer, Responses);
  return Items === undefined ? plain : { ...plain, Items: Items.map((item) => unmarshall(item)) };
}

/** The answer to a batch of reads; keys that it left undone are asked for again. */
function unmarshallBatch(answer: object, responses: Readonly<Record<string, readonly Item[]>>) {
  const { UnprocessedKeys: left = {} } = answer as {
    readonly UnprocessedKeys?: Readonly<Record<string, { readonly Keys: readonly Item[] }>>;
  };
  return {
    ...answer,
    Responses: ofTables(responses, (items) => items.map((item) => unmarshall(item))),
    UnprocessedKeys: ofTables(left, ({ Keys, ...rest }) => ({
      ...rest,
      Keys: Keys.map((key) => unmarshall(key)),
    })),
  };
}

function marshallKeys({ Keys, ...rest }: { readonly Keys: readonly object[] }): object {
  return { ...rest, Keys: Keys.map(marshallItem) };
}

function ofTables<T>(tables: Readonly<Record<string, T>>, convert: (part: T) => object): object {
  return Object.fromEntries(Object.entries(tables).map(([name, part]) => [name, convert(part)]));
}

function marshallItem(plain: object): Record<string, AttributeValue> {
  return marshall(plain, OPTIONS);
}

function converted(
  whole: object,
  fields: readonly string[],
  convert: (part: object) => object,
): object {
  const copy: Record<string, unknown> = { ...whole };
  for (const field of fields) {
    const part = copy[field];
    if (part !== undefined) copy[field] = convert(part as object);
  }
  return copy;
}
