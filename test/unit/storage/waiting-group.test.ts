import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import type { HeaderWatch } from '../../../shared/storage/hints/header-watch.ts';
import { LocalWakeUps, type WaitedStream } from '../../../shared/storage/hints/wake-ups.ts';
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
function start(log = MAIN, stream?: WaitedStream) {
  const scheduler = new ManualScheduler();
  const header = { unchangedSince: 0, tell: () => {}, isWatched: false };
  const headers: Pick<HeaderWatch, 'watch'> = {
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
  };
  const wakeUps = new LocalWakeUps(scheduler, { headers, stream });
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

/** A stream that a test makes late, and that counts who has it read. */
class FakeStream implements WaitedStream {
  coveredSince = Number.POSITIVE_INFINITY;
  attending = 0;

  attend(): () => void {
    this.attending++;
    return () => {
      this.attending--;
    };
  }
}

test('with a stream, receives on an empty log look every 30 s, from the first look on that it covers', async () => {
  const stream = new FakeStream();
  const { header, scheduler, looksDuring, end } = start(MAIN, stream);
  assert.equal(stream.attending, 1);
  // It is opened after the receive has looked, so it does not tell what came in between.
  await scheduler.pass(40);
  stream.coveredSince = scheduler.now();
  assert.equal(await looksDuring(1000), 1);
  assert.equal(await looksDuring(5 * MINUTE_MS), 10);
  assert.equal(header.isWatched, false);
  await end();
  assert.equal(stream.attending, 0);
});

test('with a stream, receives on a log with locked messages look every ten seconds', async () => {
  const stream = new FakeStream();
  const { scheduler, state, looksDuring } = start(MAIN, stream);
  state.isEmpty = false;
  stream.coveredSince = 0;
  await scheduler.pass(MINUTE_MS);
  assert.equal(await looksDuring(MINUTE_MS), 6);
});

test('when the stream becomes late, receives look as without it, within two seconds', async () => {
  const stream = new FakeStream();
  const { header, scheduler, wakeUps, looksDuring } = start(MAIN, stream);
  stream.coveredSince = 0;
  await scheduler.pass(3 * MINUTE_MS + 1000);
  stream.coveredSince = Number.POSITIVE_INFINITY;
  wakeUps.streamLapsed();
  assert.equal(await looksDuring(POLL_MS), 1);
  assert.equal(header.isWatched, true);
  // The stream goes on: headers need not be read any more.
  stream.coveredSince = scheduler.now();
  await scheduler.pass(2 * MINUTE_MS);
  assert.equal(header.isWatched, false);
});

test('a message wakes a receive at once that the stream lets look rarely, and one that becomes free wakes it in time', async () => {
  const stream = new FakeStream();
  const { scheduler, wakeUps, looks, looksDuring } = start(MAIN, stream);
  stream.coveredSince = 0;
  await scheduler.pass(MINUTE_MS + 1000);
  wakeUps.wake('id.0m0', 1);
  assert.equal(await looksDuring(100), 1);
  wakeUps.expectChange('id.0m0', 4321);
  const from = scheduler.now();
  assert.equal(await looksDuring(5000), 1);
  assert.equal(looks[0], from + 4321);
  wakeUps.expectDue(new Map([['id.0', 1234]]));
  assert.equal(await looksDuring(1300), 1);
  wakeUps.expectDue(new Map([['other.0', 0]]));
  assert.equal(await looksDuring(1000), 0);
});

test('a log that was seen empty before the receive listened may have changed since: the stream does not cover it', async () => {
  const scheduler = new ManualScheduler();
  const stream = new FakeStream();
  stream.coveredSince = 0;
  await scheduler.pass(5000);
  const wait = new LocalWakeUps(scheduler, { stream }).wait([MAIN], LONG_MS);
  wait.within(Number.POSITIVE_INFINITY, 4000);
  let isWoken = false;
  void wait.done.then(() => {
    isWoken = true;
  });
  await scheduler.pass(600);
  assert.equal(isWoken, true);
});
