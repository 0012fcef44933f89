import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SizeEstimate } from '../../../shared/storage/hints/size-estimate.ts';
import { agesBy } from '../../support/ages.ts';

const LOG = {
  entityId: 'e',
  headerEntityId: 'e',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
} as const;

test('#159 the estimate does not fall if the answers of concurrent sends arrive in another order', () => {
  const sizeEstimate = new SizeEstimate(agesBy(() => 0));
  sizeEstimate.noteStored(LOG, 990);
  sizeEstimate.noteStored(LOG, 891);
  assert.equal(sizeEstimate.atMost(LOG), 990);

  sizeEstimate.noteMeasurement(LOG, 500, 990);
  sizeEstimate.noteStored(LOG, 1089);
  sizeEstimate.noteStored(LOG, 990);
  assert.equal(sizeEstimate.atMost(LOG), 599);
});
