import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LocalPartitionHints } from '../../../shared/storage/hints/partition-hints.ts';
import { agesBy } from '../../support/ages.ts';

const LOG = {
  entityId: 'e',
  headerEntityId: 'e',
  entityKey: 'q',
  partition: 3,
  subQueue: 'main',
  generation: 0,
} as const;
const NAME = 'e.3m0';

test('a query without result marks a partition as empty, unless a message arrived meanwhile', () => {
  const partitionHints = new LocalPartitionHints(agesBy(() => 0));
  partitionHints.noteArrival(NAME);
  assert.equal(partitionHints.mayHaveMessages(LOG), true);
  partitionHints.beginLook(LOG)(false);
  assert.equal(partitionHints.mayHaveMessages(LOG), false);

  const early = partitionHints.beginLook(LOG);
  partitionHints.noteArrival(NAME);
  early(false);
  assert.equal(partitionHints.mayHaveMessages(LOG), true);
  partitionHints.beginLook(LOG)(false);
  assert.equal(partitionHints.mayHaveMessages(LOG), false);
});
