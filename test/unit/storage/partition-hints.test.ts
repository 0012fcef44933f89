import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownWhereabouts } from '../../../shared/storage/hints/partition-hints.ts';
import { agesBy } from '../../support/ages.ts';

const LOG = {
  entityId: 'e',
  counterId: 'e',
  entityKey: 'q',
  partition: 3,
  subQueue: 'main',
  generation: 0,
} as const;
const NAME = 'e.3m0';

test('a look in vain says that nothing is there, unless something came in while it went on', () => {
  const whereabouts = new KnownWhereabouts(agesBy(() => 0));
  whereabouts.arrived(NAME);
  assert.equal(whereabouts.isLikely(LOG), true);
  whereabouts.beginLook(LOG)(false);
  assert.equal(whereabouts.isLikely(LOG), false);

  const early = whereabouts.beginLook(LOG);
  whereabouts.arrived(NAME);
  early(false);
  assert.equal(whereabouts.isLikely(LOG), true);
  whereabouts.beginLook(LOG)(false);
  assert.equal(whereabouts.isLikely(LOG), false);
});
