import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { NetworkRequest } from '../tables/network.ts';

interface Input {
  readonly Key?: Record<string, AttributeValue>;
  readonly Item?: Record<string, AttributeValue>;
  readonly UpdateExpression?: string;
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
  readonly TransactItems?: readonly Record<string, Input>[];
  readonly RequestItems?: Record<string, unknown>;
}

/** A request as a timeline shows it. */
export function describeRequest({ name, input, attempt }: NetworkRequest): string {
  const again = attempt > 1 ? ` (try ${attempt})` : '';
  return `${name.replace(/(Item)?s?Command$/, '')}${again} ${describeInput(input as Input)}`;
}

function describeInput(input: Input): string {
  if (input.TransactItems !== undefined) {
    const parts = input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([verb, one]) => `${verb} ${describeInput(one)}`),
    );
    return `[${parts.join('; ')}]`;
  }
  if (input.RequestItems !== undefined) return show(input.RequestItems);
  const key = input.Key ?? input.Item;
  if (key === undefined) {
    return Object.values(input.ExpressionAttributeValues ?? {})
      .map(({ S = '' }) => S)
      .join(' ');
  }
  const change =
    input.UpdateExpression === undefined ? '' : ` ${filled(input, input.UpdateExpression)}`;
  const condition = input.ConditionExpression;
  const when = condition === undefined ? '' : ` IF ${filled(input, condition)}`;
  return `${key['pk']?.S} ${key['sk']?.S}${change}${when}`;
}

/** An expression with its placeholders replaced by names and values. */
function filled(input: Input, expression: string): string {
  return expression.replaceAll(/[#:]\w+/g, (placeholder) => {
    const value = input.ExpressionAttributeValues?.[placeholder];
    return value === undefined
      ? (input.ExpressionAttributeNames?.[placeholder] ?? placeholder)
      : show(value);
  });
}

/** A value as a short text. */
function show(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Uint8Array ? Buffer.from(inner).toString('hex') : inner,
  );
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}

const VALUE_MAX = 160;
