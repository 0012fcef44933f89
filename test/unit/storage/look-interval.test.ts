import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isCovered,
  type LookState,
  lookIntervalMs,
} from '../../../shared/storage/hints/look-interval.ts';

const MINUTE_MS = 60_000;

/** Receives on an empty main log, which have waited for two minutes until the instant 200,000. */
const EMPTY: LookState = {
  pollMs: 2000,
  waitedMs: 2 * MINUTE_MS,
  emptyAt: 200_000,
  listenedAt: 200_000,
  logs: 1,
  areMain: true,
  unchangedSince: Number.POSITIVE_INFINITY,
  coveredSince: Number.POSITIVE_INFINITY,
};

const rows: readonly [string, Partial<LookState>, number][] = [
  ['young: as often as they poll', { waitedMs: MINUTE_MS - 1, pollMs: 700 }, 700],
  ['old, the header is not known', {}, 2000],
  ['old, the header has not changed for ten seconds', { unchangedSince: 190_000 }, 30_000],
  ['old, the header has changed a moment ago', { unchangedSince: 190_001 }, 2000],
  ['old, not empty', { emptyAt: undefined, unchangedSince: 0 }, 2000],
  ['old, of dead letters', { areMain: false }, 10_000],
  ['covered, empty', { coveredSince: 200_000, waitedMs: 0, pollMs: 500 }, 30_000],
  ['covered since after the look', { coveredSince: 200_001, waitedMs: 0, pollMs: 500 }, 500],
  ['covered, dead letters', { coveredSince: 0, areMain: false, waitedMs: 0 }, 10_000],
  ['covered, not empty', { coveredSince: 0, emptyAt: undefined, pollMs: 500 }, 10_000],
  [
    'not empty, covered since after a receive began to listen',
    { coveredSince: 200_001, emptyAt: undefined, waitedMs: 0, pollMs: 500 },
    500,
  ],
  [
    'covered, not empty, in partitions that were not all asked',
    { coveredSince: 0, emptyAt: undefined, logs: 16, pollMs: 1900 },
    1900,
  ],
  [
    'covered, not empty, in partitions that were all asked',
    { coveredSince: 0, emptyAt: undefined, logs: 16 },
    10_000,
  ],
];

for (const [name, state, ms] of rows) {
  test(`${name}: the next look is after ${ms} ms`, () => {
    assert.equal(lookIntervalMs({ ...EMPTY, ...state }), ms);
  });
}

test('a stream that is late covers nothing', () => {
  assert.equal(isCovered(EMPTY), false);
  assert.equal(isCovered({ ...EMPTY, emptyAt: undefined }), false);
});
