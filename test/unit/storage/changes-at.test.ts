import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockRules } from '../../../shared/domain/blocks/block.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import type { LogPolicy } from '../../../shared/domain/blocks/log-policy.ts';
import { lockScopeOf, ScanHints } from '../../../shared/storage/hints/scan-hints.ts';
import { createMessageStore } from '../../../shared/storage/message-store.ts';
import { DueTimes } from '../../../shared/storage/scheduling/due-times.ts';
import { logKey, logName } from '../../../shared/storage/schema/message-keys.ts';
import type { StoreContext } from '../../../shared/storage/store-context.ts';
import { agesBy } from '../../support/ages.ts';

const NOW = 1_000_000;
const NEVER = Number.POSITIVE_INFINITY;
const MAIN: Log = {
  entityId: 'e',
  headerEntityId: 'e',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};
const DEAD: Log = { ...MAIN, subQueue: 'deadLetter' };

function startStore() {
  const ages = agesBy(() => 0);
  const [scanHints, dueTimes] = [new ScanHints(ages, true), new DueTimes(NEVER, ages)];
  const context = { scanHints, dueTimes, clock: { now: () => NOW } } as unknown as StoreContext;
  const store = createMessageStore(context, async () => 0);
  const rules = { epoch: 0, isDeadLetter: false, maxDeliveryCount: 10 } as BlockRules;
  const policy: LogPolicy = { rules, onExpiry: 'drop', deadLetterLog: DEAD };
  return {
    changesAt: (log: Log) => store.changesAt(log, policy),
    lockedUntil: (log: Log, until: number) =>
      scanHints.set(
        logName(log),
        { skipBefore: 'a', validUntil: until, lockScope: lockScopeOf(rules) },
        ages.now(),
      ),
    dueAt: (log: Log, at: number | undefined) => dueTimes.note(logKey(log), at, dueTimes.now()),
  };
}

test('without known locks or due times, a log has no time at which it changes by itself', () => {
  const { changesAt, dueAt } = startStore();
  assert.equal(changesAt(MAIN), NEVER);
  dueAt(MAIN, undefined);
  assert.equal(changesAt(MAIN), NEVER);
});

test('a log changes when its first lock ends', () => {
  const { changesAt, lockedUntil } = startStore();
  lockedUntil(MAIN, NOW + 300);
  assert.equal(changesAt(MAIN), NOW + 300);
  assert.equal(changesAt(DEAD), NEVER);
});

test('the main log, also of a session, changes when a scheduled message becomes due', () => {
  const { changesAt, lockedUntil, dueAt } = startStore();
  lockedUntil(MAIN, NOW + 300);
  dueAt(MAIN, NOW + 200);
  assert.equal(changesAt(MAIN), NOW + 200);
  assert.equal(changesAt({ ...MAIN, sessionId: 's' }), NOW + 200);
  dueAt(MAIN, NOW + 400);
  assert.equal(changesAt(MAIN), NOW + 300);
});
