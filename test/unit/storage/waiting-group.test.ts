import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { LocalWakeUps } from '../../../shared/storage/hints/wake-ups.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

const LONG_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** As often as waiting receives look at most, and the longest time between two looks for now. */
const POLL_MS = 2000;

const MAIN: Log = {
  entityId: 'id',
  headerEntityId: 'id',
  entityKey: 'q',
  partition: 0,
  subQueue: 'main',
  generation: 0,
};

/** A receive that finds nothing, and waits again each time. */
function start(log = MAIN) {
  const scheduler = new ManualScheduler();
  const header = { unchangedSince: 0, tell: () => {}, isWatched: false };
  const wakeUps = new LocalWakeUps(scheduler, {
    watch: (_, onNews) => {
      header.tell = onNews;
      header.isWatched = true;
      return {
        get unchangedSince() {
          return header.unchangedSince;
        },
        end: () => {
          header.isWatched = false;
        },
      };
    },
  });
  const looks: number[] = [];
  const state = { isEmpty: true, changesInMs: Number.POSITIVE_INFINITY, isOver: false };
  const wait = async () => {
    for (let last = wakeUps.wait([log], LONG_MS); ; ) {
      await last.done;
      if (state.isOver) return last.cancel();
      looks.push(scheduler.now());
      const next = wakeUps.wait([log], LONG_MS);
      last.foundNothing();
      next.within(state.changesInMs, state.isEmpty ? scheduler.now() : undefined);
      last = next;
    }
  };
  const waiting = wait();
  const looksDuring = async (ms: number) => {
    looks.length = 0;
    await scheduler.pass(ms);
    return looks.length;
  };
  const end = async () => {
    state.isOver = true;
    wakeUps.wakeAll();
    await waiting;
  };
  return { scheduler, header, wakeUps, looks, state, looksDuring, end };
}

test('receives on an empty log look every 30 s once they have waited for a minute; a new header wakes one', async () => {
  const { header, scheduler, looksDuring, end } = start();
  assert.ok((await looksDuring(MINUTE_MS)) > 25);
  await scheduler.pass(MINUTE_MS);
  assert.equal(await looksDuring(5 * MINUTE_MS), 10);
  header.unchangedSince = scheduler.now();
  header.tell();
  // Until ten seconds have passed without a change, they look as before.
  assert.ok((await looksDuring(10_000)) >= 5);
  await scheduler.pass(MINUTE_MS);
  assert.equal(await looksDuring(5 * MINUTE_MS), 10);
  assert.equal(header.isWatched, true);
  await end();
  assert.equal(header.isWatched, false);
});

test('receives on a log with locked messages look every two seconds, however long they wait', async () => {
  const { scheduler, state, looksDuring } = start();
  state.isEmpty = false;
  await scheduler.pass(3 * MINUTE_MS);
  assert.equal(await looksDuring(MINUTE_MS), MINUTE_MS / POLL_MS);
  state.isEmpty = true;
  await scheduler.pass(MINUTE_MS);
  assert.equal(await looksDuring(MINUTE_MS), 2);
  state.isEmpty = false;
  // The next look, after 30 s, sees a message.
  await scheduler.pass(31_000);
  assert.equal(await looksDuring(MINUTE_MS), MINUTE_MS / POLL_MS);
});

test('a look that began less than ten seconds after a change of the header does not make them look less often', async () => {
  const { header, scheduler, looksDuring } = start();
  await scheduler.pass(2 * MINUTE_MS);
  for (let i = 0; i < 6; i++) {
    header.unchangedSince = scheduler.now();
    assert.ok((await looksDuring(9000)) >= (i === 0 ? 0 : 4), `${i}`);
  }
});

test('receives on an empty dead-letter queue look every ten seconds', async () => {
  const { header, scheduler, looksDuring } = start({ ...MAIN, subQueue: 'deadLetter' });
  assert.ok((await looksDuring(MINUTE_MS)) > 25);
  await scheduler.pass(MINUTE_MS);
  assert.equal(await looksDuring(MINUTE_MS), 6);
  assert.equal(header.isWatched, false);
});

test('a receive that looks rarely still looks when a message becomes due', async () => {
  const { scheduler, state, looks } = start();
  await scheduler.pass(3 * MINUTE_MS);
  state.changesInMs = 12_345;
  looks.length = 0;
  await scheduler.pass(MINUTE_MS);
  const [first = 0, second = 0] = looks;
  assert.equal(second - first, 12_345);
});

test('a change of the entity by this process wakes a receive that looks rarely, of its subscriptions too', async () => {
  const key = 't/subscriptions/s';
  const { scheduler, wakeUps, looksDuring } = start({ ...MAIN, entityKey: key });
  await scheduler.pass(3 * MINUTE_MS);
  wakeUps.entityChanged('other');
  assert.equal(await looksDuring(100), 0);
  wakeUps.entityChanged('t');
  assert.equal(await looksDuring(100), 1);
});
