/** The folders under lambdas/ that become functions. */
export const FUNCTION_NAMES = ['send', 'receive', 'settle', 'manage', 'sweep'] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** DynamoDB actions that a function may take on each table. */
export interface TableRights {
  readonly entities: readonly string[];
  readonly messages: readonly string[];
}

const READ_ENTITIES = ['dynamodb:GetItem', 'dynamodb:Query'];

/** Uses of entities are noted now and then, and what the sweep has to do. */
const NOTE_ENTITIES = [...READ_ENTITIES, 'dynamodb:PutItem', 'dynamodb:UpdateItem'];

/** Claims, settlements and moves; a transaction needs the rights of the actions in it. */
const HOLD_MESSAGES = [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
];

/** All that can be done to items, and nothing that can be done to a table. No Scan: nothing scans. */
const EVERY_ITEM = [...HOLD_MESSAGES, 'dynamodb:ConditionCheckItem'];

/** The least each function needs (docs/security.md). */
export const TABLE_RIGHTS: Readonly<Record<FunctionName, TableRights>> = {
  send: {
    // The due-work index of the sweep is beside the entities.
    entities: [...READ_ENTITIES, 'dynamodb:PutItem'],
    // No DeleteItem, since a send deletes nothing. That alone protects no message: BatchWriteItem, which
    // stores payloads, also deletes, and PutItem and UpdateItem overwrite.
    messages: [
      'dynamodb:GetItem',
      'dynamodb:Query',
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
      'dynamodb:BatchWriteItem',
      'dynamodb:ConditionCheckItem',
    ],
  },
  receive: { entities: NOTE_ENTITIES, messages: HOLD_MESSAGES },
  settle: { entities: NOTE_ENTITIES, messages: HOLD_MESSAGES },
  manage: { entities: EVERY_ITEM, messages: EVERY_ITEM },
  sweep: { entities: EVERY_ITEM, messages: EVERY_ITEM },
};

/** What the gateway for AMQP needs: it does all that the functions behind HTTP do. */
export const GATEWAY_RIGHTS: TableRights = {
  entities: union('entities'),
  messages: union('messages'),
};

function union(table: keyof TableRights): readonly string[] {
  const names = ['send', 'receive', 'settle', 'manage'] as const;
  return [...new Set(names.flatMap((name) => TABLE_RIGHTS[name][table]))];
}
