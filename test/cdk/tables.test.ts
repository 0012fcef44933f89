import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Match } from 'aws-cdk-lib/assertions';
import { GARBAGE_AFTER, PARTITION_KEY, SORT_KEY } from '../../shared/storage/schema/tables.ts';
import { synthesize } from './synthesize.ts';

const TABLE = 'AWS::DynamoDB::Table';

test('two tables of the shape that storage expects, on demand, encrypted and swept', () => {
  synthesize().allResourcesProperties(TABLE, {
    KeySchema: [
      { AttributeName: PARTITION_KEY, KeyType: 'HASH' },
      { AttributeName: SORT_KEY, KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: PARTITION_KEY, AttributeType: 'S' },
      { AttributeName: SORT_KEY, AttributeType: 'S' },
    ],
    BillingMode: 'PAY_PER_REQUEST',
    ProvisionedThroughput: Match.absent(),
    GlobalSecondaryIndexes: Match.absent(),
    StreamSpecification: Match.absent(),
    SSESpecification: { SSEEnabled: true },
    TimeToLiveSpecification: { AttributeName: GARBAGE_AFTER, Enabled: true },
  });
  synthesize().resourceCountIs(TABLE, 2);
});

test('a stage is careful with its data unless told otherwise', () => {
  const template = synthesize();
  template.allResourcesProperties(TABLE, {
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    DeletionProtectionEnabled: true,
  });
  template.allResources(TABLE, { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  template.allResources('AWS::SecretsManager::Secret', { DeletionPolicy: 'Retain' });
});

test('a stage told so leaves nothing behind', () => {
  const template = synthesize({ keepData: false, pointInTimeRecovery: false });
  template.allResourcesProperties(TABLE, {
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false },
    DeletionProtectionEnabled: false,
  });
  const kept = Object.entries<{ DeletionPolicy?: string }>(template.toJSON()['Resources'])
    .filter(([, { DeletionPolicy }]) => DeletionPolicy === 'Retain')
    .map(([id]) => id);
  assert.deepEqual(kept, []);
});
