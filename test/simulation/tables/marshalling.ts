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
  const entries = (input as { TransactItems?: readonly TransactWriteItem[] }).TransactItems;
  if (entries === undefined) return converted(input, OF_REQUESTS, marshallItem);
  const TransactItems = entries.map((entry) =>
    converted(entry, Object.keys(entry), (part) => converted(part, OF_REQUESTS, marshallItem)),
  );
  return { ...input, TransactItems };
}

/** An answer of the database in plain values. */
export function unmarshallAnswer(answer: object): object {
  const plain = converted(answer, OF_ANSWERS, (item) => unmarshall(item as Item));
  const { Items } = answer as { Items?: readonly Item[] };
  return Items === undefined ? plain : { ...plain, Items: Items.map((item) => unmarshall(item)) };
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
