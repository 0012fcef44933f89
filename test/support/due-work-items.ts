import {
  type AttributeValue,
  DeleteItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { dueWorkCollection, sweepStateKey } from '../../shared/storage/schema/entity-keys.ts';
import { engineClient, TABLES } from './start-broker.ts';
import { StoredItems } from './stored-items.ts';
import type { TestBroker } from './test-broker.ts';

/** The entries of a namespace's due-work index, as stored. */
export async function dueWorkOf({ namespace }: TestBroker, items: StoredItems) {
  return await items.entitiesIn(dueWorkCollection(namespace));
}

/** Leaves a namespace as a version did whose sweep checked all entities in every run: without due work for it. */
export async function withoutIdleChecks(broker: TestBroker): Promise<void> {
  const items = new StoredItems(broker);
  const client = engineClient();
  const Key = (key: { readonly pk: string; readonly sk: string }) => ({
    pk: { S: key.pk },
    sk: { S: key.sk },
  });
  for (const { pk, sk } of await dueWorkOf(broker, items)) {
    const entry = { pk, sk } as Record<string, AttributeValue>;
    await client.send(new DeleteItemCommand({ TableName: TABLES.entities, Key: entry }));
  }
  const walked = { M: { beganAt: { N: String(broker.clock.now()) } } };
  await client.send(
    new UpdateItemCommand({
      TableName: TABLES.entities,
      Key: Key(sweepStateKey(broker.namespace)),
      UpdateExpression: 'SET idle = :walked, hourly = :walked, daily = :walked REMOVE #full',
      ExpressionAttributeNames: { '#full': 'full' },
      ExpressionAttributeValues: { ':walked': walked },
    }),
  );
  client.destroy();
  items.close();
}
