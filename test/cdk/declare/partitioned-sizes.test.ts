import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEntity } from '../../../cdk/entities/read-props.ts';
import { startDeclaring } from './declaring.ts';
import { queue } from './stack.ts';

/** The sizes of partitioned entities depend on the tier (docs/semantics/partitions.md). */

const SIZES = [
  { tier: 'Premium', maxSizeInMegabytes: 10_240, isTaken: true },
  { tier: 'Standard', maxSizeInMegabytes: 10_240, isTaken: false },
  { tier: 'Standard', maxSizeInMegabytes: 16_384, isTaken: true },
  { tier: 'Premium', maxSizeInMegabytes: 16_384, isTaken: false },
] as const;

for (const { tier, maxSizeInMegabytes, isTaken } of SIZES) {
  const settings = { enablePartitioning: true, maxSizeInMegabytes };

  test(`${tier} ${isTaken ? 'takes' : 'refuses'} ${maxSizeInMegabytes} MB, declared or at synthesis`, async (t) => {
    const { stack } = await startDeclaring(t, { tier });
    const reason = await stack('shop').deploy({ Q: queue('q', settings) });
    const read = () => readEntity('Q', { kind: 'queue', name: 'q', settings, tier });
    if (isTaken) {
      assert.equal(reason, undefined);
      read();
    } else {
      assert.match(reason ?? '', /^maxSizeInMegabytes: /);
      assert.throws(read, /^SettingsError: Q: maxSizeInMegabytes: /);
    }
  });
}
