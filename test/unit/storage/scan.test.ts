import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, BlockRules } from '../../../shared/domain/blocks/block.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { UNLOCKED_SESSION } from '../../../shared/domain/blocks/session.ts';
import { FRESH_SLOT, type Slot } from '../../../shared/domain/blocks/slot.ts';
import { Limiter } from '../../../shared/domain/turns/limiter.ts';
import { toBlockItem } from '../../../shared/storage/blocks/block-item.ts';
import { scan } from '../../../shared/storage/claim/scan.ts';
import { ScanHints } from '../../../shared/storage/hints/scan-hints.ts';
import { Spread } from '../../../shared/storage/hints/spread.ts';
import { FIRST_BLOCK, logName } from '../../../shared/storage/schema/message-keys.ts';
import type { StoreContext } from '../../../shared/storage/store-context.ts';
import { agesBy } from '../../support/ages.ts';

const NOW = 1000;
const LOG: Log = {
  entityId: 'q',
  headerEntityId: 'q',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};
const RULES: BlockRules = { epoch: 1, isDeadLetter: false, maxDeliveryCount: 10 };

function blockAt(sequence: bigint, ...slots: readonly Slot[]): Block {
  return {
    section: 'live',
    sequence,
    enqueuedAt: 0,
    slots: new Map(slots.entries()),
    payload: { bytes: 100, offset: 0, parts: 0, inline: new Uint8Array(1) },
  };
}

/** How many blocks a process remembers after a scan of these. */
async function keptOf(blocks: readonly Block[], rules = RULES): Promise<number> {
  const scanHints = new ScanHints(
    agesBy(() => 0),
    true,
  );
  const context = {
    clock: { now: () => NOW },
    scans: { small: new Limiter(1), large: new Limiter(1) },
    scanHints,
    spread: new Spread(),
    table: { range: async () => ({ items: blocks.map((block) => toBlockItem(LOG, block)) }) },
  };
  const request = { maxMessages: 1, maxBytes: 1000, rules };
  const { targets } = await scan(context as unknown as StoreContext, LOG, request);
  assert.equal(targets.length, 1);
  return scanHints.pages.find(logName(LOG), FIRST_BLOCK)?.blocks.length ?? 0;
}

test('a scan that leaves blocks to clean up is not remembered', async () => {
  const free = blockAt(1n, FRESH_SLOT, FRESH_SLOT);
  assert.equal(await keptOf([free, blockAt(5n, FRESH_SLOT)]), 2);
  assert.equal(await keptOf([free, blockAt(5n, { deliveries: 0, expiresAt: NOW })]), 0, 'expired');
  assert.equal(await keptOf([free, blockAt(5n, { deliveries: 10 })]), 0, 'no deliveries left');
  assert.equal(await keptOf([free, blockAt(5n)]), 0, 'empty');
});

test('scans of dead-letter queues and sessions are not remembered', async () => {
  const free = [blockAt(1n, FRESH_SLOT, FRESH_SLOT)];
  assert.equal(await keptOf(free), 1);
  assert.equal(await keptOf(free, { ...RULES, isDeadLetter: true }), 0);
  assert.equal(await keptOf(free, { ...RULES, session: UNLOCKED_SESSION }), 0);
});
