import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { engineClient, TABLES } from './start-broker.ts';

/** The IAM actions that are allowed on each table. */
export type Rights = Readonly<Record<keyof typeof TABLES, readonly string[]>>;

interface DynamoRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

interface DynamoInput {
  readonly TableName?: string;
  readonly RequestItems?: Readonly<Record<string, unknown>>;
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName: string }>>[];
}

/** A client that refuses actions without a right, and reports them to `denied`. The caller destroys it. */
export function clientWithRights(rights: Rights, denied: (what: string) => void): DynamoDBClient {
  const client = engineClient();
  client.middlewareStack.add(
    (next) => async (args) => {
      const request = args.request as DynamoRequest;
      for (const [action, table] of actionsOf(request)) {
        if (!isAllowed(rights, action, table)) {
          denied(`${action} on ${table}`);
          throw Object.assign(new Error(action), { name: 'AccessDeniedException' });
        }
      }
      return await next(args);
    },
    { step: 'finalizeRequest', priority: 'high', name: 'rights' },
  );
  return client;
}

function isAllowed(rights: Rights, action: string, table: string): boolean {
  // The deployment creates the tables, not the functions.
  if (action.endsWith('Table')) return true;
  return (['entities', 'messages'] as const).some(
    (name) => TABLES[name] === table && rights[name].includes(action),
  );
}

/** The actions of a request; a transaction has those of its items. */
function actionsOf({ headers, body }: DynamoRequest): (readonly [string, string])[] {
  const operation = headers['x-amz-target']?.split('.')[1] ?? '';
  const input: DynamoInput = JSON.parse(
    typeof body === 'string' ? body : new TextDecoder().decode(body),
  );
  if (input.TransactItems !== undefined) {
    return input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([kind, { TableName }]) => [transacted(kind), TableName] as const),
    );
  }
  const tables = input.RequestItems ? Object.keys(input.RequestItems) : [input.TableName ?? ''];
  return tables.map((table) => [`dynamodb:${operation}`, table] as const);
}

const transacted = (kind: string) =>
  kind === 'ConditionCheck' ? 'dynamodb:ConditionCheckItem' : `dynamodb:${kind}Item`;
