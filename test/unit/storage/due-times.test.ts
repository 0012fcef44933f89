import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueTimes } from '../../../shared/storage/scheduling/due-times.ts';
import { agesBy } from '../../support/ages.ts';

/** More logs than a process caches. */
const LOGS = 15_000;

function start() {
  const dueTimes = new DueTimes(
    1000,
    agesBy(() => 0),
  );
  const read = (log: string, dueAt: number | undefined) =>
    dueTimes.note(log, dueAt, dueTimes.now());
  return { dueTimes, read };
}

test('of two overlapping reads, the earlier due time is kept', () => {
  const { dueTimes, read } = start();
  const readAt = dueTimes.now();
  read('log', 5);
  dueTimes.note('log', undefined, readAt);
  assert.equal(dueTimes.isDue('log', 5), true);
});

test('the result of a read that began before its entry was forgotten is not kept', () => {
  const { dueTimes, read } = start();
  const readAt = dueTimes.now();
  read('log', 5);
  for (let other = 0; other < LOGS; other++) read(`other ${other}`, undefined);
  dueTimes.note('log', undefined, readAt);
  assert.equal(dueTimes.isDue('log', 5), 'unknown');
});

test('results of reads under way are kept even when the least recently used logs are forgotten', () => {
  const { dueTimes, read } = start();
  for (let other = 0; other < LOGS; other++) {
    const readAt = dueTimes.now();
    read(`other ${other}`, undefined);
    dueTimes.note('log', 5, readAt);
    assert.equal(dueTimes.isDue('log', 5), true, `${other}`);
  }
});
