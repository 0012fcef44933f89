import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScanHints } from '../../../shared/storage/hints/scan-hints.ts';
import { agesBy } from '../../support/ages.ts';

const LOG = 'q.0m0';

function start() {
  let now = 1000;
  const hints = new ScanHints(
    agesBy(() => now),
    false,
  );
  const scan = (isEmpty: boolean, meanwhile = () => {}) => {
    const active = hints.beginScan(LOG);
    now += 10;
    meanwhile();
    hints.noteExtent(LOG, active, isEmpty);
    active.end();
  };
  return { hints, scan };
}

test('a log is known to be empty since the last scan that read no block began', () => {
  const { hints, scan } = start();
  assert.equal(hints.emptyAt(LOG), undefined);
  scan(true);
  assert.equal(hints.emptyAt(LOG), 1000);
  scan(true);
  assert.equal(hints.emptyAt(LOG), 1010);
  scan(false);
  assert.equal(hints.emptyAt(LOG), undefined);
});

test('a log is not known to be empty once a message has arrived or become free, also while a scan reads', () => {
  const { hints, scan } = start();
  scan(true);
  hints.noteBlock(LOG, 'b1');
  assert.equal(hints.emptyAt(LOG), undefined);
  scan(true);
  hints.noteReturn(LOG);
  assert.equal(hints.emptyAt(LOG), undefined);
  scan(true, () => hints.noteBlock(LOG, 'b2'));
  assert.equal(hints.emptyAt(LOG), undefined);
});
