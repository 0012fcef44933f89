/** The folders under lambdas/ that become functions. */
export const FUNCTION_NAMES = [
  'send',
  'receive',
  'settle',
  'manage',
  'sweep',
  'declare',
  'wake',
  'push',
] as const;
/** The name of a function. */
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** DynamoDB actions that a function may use on each table. */
export interface TableRights {
  readonly entities: readonly string[];
  readonly messages: readonly string[];
}

const READ_ENTITIES = ['dynamodb:GetItem', 'dynamodb:Query'];

/** For reading entities, and for recording their use and due work of the sweep. */
const RECORD_ENTITY_USE = [...READ_ENTITIES, 'dynamodb:PutItem', 'dynamodb:UpdateItem'];

/** For claims, settlements and moves. A transaction has no right of its own: it needs those of its writes. */
const CHANGE_MESSAGES = [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
];

/** All actions on items, and none on the table. No Scan, because nothing scans. */
const EVERY_ITEM = [...CHANGE_MESSAGES, 'dynamodb:ConditionCheckItem'];

/** The least rights that each function needs (docs/security.md). */
export const TABLE_RIGHTS: Readonly<Record<FunctionName, TableRights>> = {
  send: {
    // The due-work index of the sweep is beside the entities.
    entities: [...READ_ENTITIES, 'dynamodb:PutItem'],
    // No DeleteItem, since a send deletes nothing. This alone does not protect messages: BatchWriteItem, which
    // stores payloads, can also delete, and PutItem and UpdateItem can overwrite.
    messages: [
      'dynamodb:GetItem',
      'dynamodb:Query',
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
      'dynamodb:BatchWriteItem',
      'dynamodb:ConditionCheckItem',
    ],
  },
  receive: { entities: RECORD_ENTITY_USE, messages: CHANGE_MESSAGES },
  settle: { entities: RECORD_ENTITY_USE, messages: CHANGE_MESSAGES },
  manage: { entities: EVERY_ITEM, messages: EVERY_ITEM },
  sweep: { entities: EVERY_ITEM, messages: EVERY_ITEM },
  // As management: a queue that begins to forward moves the messages that it has.
  declare: { entities: EVERY_ITEM, messages: EVERY_ITEM },
  // It reads the states of consumers, and notes in them that messages have come.
  wake: { entities: [...READ_ENTITIES, 'dynamodb:UpdateItem'], messages: [] },
  // It receives and settles, and keeps the states of consumers beside the entities.
  push: { entities: RECORD_ENTITY_USE, messages: CHANGE_MESSAGES },
};

/**
 * The rights of a process that serves AMQP from the tables, such as the gateway, which does everything that the HTTP
 * functions do.
 */
export const DIRECT_RIGHTS: TableRights = {
  entities: union('entities'),
  messages: union('messages'),
};

/** What else it needs to read the stream of the messages table: on the stream, and on the table. */
export const STREAM_RIGHTS = {
  stream: ['dynamodb:DescribeStream', 'dynamodb:GetShardIterator', 'dynamodb:GetRecords'],
  table: ['dynamodb:DescribeTable'],
} as const;

/** What Lambda needs, by the role of a function, to invoke it with what it reads from a stream. */
export const STREAM_SOURCE_RIGHTS = {
  stream: STREAM_RIGHTS.stream,
  /** The list of streams, for which IAM knows no resource. */
  everything: ['dynamodb:ListStreams'],
} as const;

function union(table: keyof TableRights): readonly string[] {
  const names = ['send', 'receive', 'settle', 'manage'] as const;
  return [...new Set(names.flatMap((name) => TABLE_RIGHTS[name][table]))];
}
