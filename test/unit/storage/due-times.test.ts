import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DueTimes } from '../../../shared/storage/scheduling/due-times.ts';
import { agesBy } from '../../support/ages.ts';

/** More logs than a process remembers. */
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

test('of two reads that overlap the earlier due time is kept', () => {
  const { dueTimes, read } = start();
  const readAt = dueTimes.now();
  read('log', 5);
  dueTimes.note('log', undefined, readAt);
  assert.equal(dueTimes.isDue('log', 5), true);
});

test('a read that overlaps one whose result was forgotten is not noted', () => {
  const { dueTimes, read } = start();
  const readAt = dueTimes.now();
  read('log', 5);
  for (let other = 0; other < LOGS; other++) read(`other ${other}`, undefined);
  dueTimes.note('log', undefined, readAt);
  assert.equal(dueTimes.isDue('log', 5), 'unknown');
});

test('forgetting logs that were used least recently does not reject reads that are under way', () => {
  const { dueTimes, read } = start();
  for (let other = 0; other < LOGS; other++) {
    const readAt = dueTimes.now();
    read(`other ${other}`, undefined);
    dueTimes.note('log', 5, readAt);
    assert.equal(dueTimes.isDue('log', 5), true, `${other}`);
  }
});
