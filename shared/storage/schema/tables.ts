/**
 * The two tables, as data: CDK deploys them, the local server and the tests create them.
 * Both have the same plain shape; entity-keys.ts and message-keys.ts say what the keys mean.
 */

/** The names of the two tables. */
export interface TableNames {
  /** Entities and their rules, and what the sweep remembers. */
  readonly entities: string;
  /** Messages, sessions, and records of duplicates and transactions. */
  readonly messages: string;
}

export const PARTITION_KEY = 'pk';
export const SORT_KEY = 'sk';

/**
 * The attribute that DynamoDB's own expiry looks at, epoch seconds. A free garbage collector for
 * what is already logically gone; no rule depends on when it runs (semantics V7).
 */
export const GARBAGE_AFTER = 'gc';

/**
 * The stream of the messages table, where it has one: for processes that wait (docs/decisions/0036). The images of
 * changed items are in it.
 */
export const MESSAGES_STREAM = { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } as const;

/** The request that creates one of the tables on any engine that speaks the DynamoDB API. */
export function createTableRequest(tableName: string) {
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: PARTITION_KEY, AttributeType: 'S' },
      { AttributeName: SORT_KEY, AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: PARTITION_KEY, KeyType: 'HASH' },
      { AttributeName: SORT_KEY, KeyType: 'RANGE' },
    ],
  } as const;
}
