import assert from 'node:assert/strict';
import { mock, type TestContext, test } from 'node:test';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import type { Log } from '../../../shared/domain/blocks/log.ts';
import { LocalWakeUps } from '../../../shared/storage/hints/wake-ups.ts';
import { logName } from '../../../shared/storage/schema/message-keys.ts';

const LONG_MS = 3_600_000;

function logNamed(entityId: string): Log {
  return {
    entityId,
    headerEntityId: entityId,
    entityKey: entityId,
    partition: 0,
    subQueue: 'main',
    generation: 0,
  };
}

const LOG = logNamed('queue');

/** Numbers the waits, and records the order in which they are woken. */
class Waits {
  readonly wakeUps = new LocalWakeUps(realScheduler);
  readonly woken: number[] = [];
  #count = 0;

  wait(log = LOG, ms = LONG_MS) {
    const number = this.#count++;
    const arrival = this.wakeUps.wait([log], ms);
    void arrival.done.then(() => this.woken.push(number));
    return arrival;
  }

  /** Counts the wake-ups during `ms`, if no receive finds anything and each waits again. */
  async wakeUpsDuring(ms: number): Promise<number> {
    let looks = 0;
    let isOver = false;
    const stay = async () => {
      for (let last = this.wakeUps.wait([LOG], LONG_MS); ; looks++) {
        await last.done;
        if (isOver) return;
        const next = this.wakeUps.wait([LOG], LONG_MS);
        last.foundNothing();
        last = next;
      }
    };
    const staying = Array.from({ length: 100 }, stay);
    for (let passed = 0; passed < ms; passed += 50) {
      mock.timers.tick(50);
      await settled();
    }
    isOver = true;
    const total = looks;
    this.wakeUps.wakeAll();
    await Promise.all(staying);
    return total;
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

function stopTime(t: TestContext): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
}

test('a message wakes the longest wait on its log, and no other', async (t) => {
  stopTime(t);
  const waits = new Waits();
  for (let i = 0; i < 3; i++) waits.wait();
  waits.wait(logNamed('other'));
  waits.wakeUps.wake(logName(LOG), 1);
  await settled();
  assert.deepEqual(waits.woken, [0]);
});

test('several messages wake as many waits, those that wait longest', async (t) => {
  stopTime(t);
  const waits = new Waits();
  for (let i = 0; i < 4; i++) waits.wait();
  waits.wakeUps.wake(logName(LOG), 3);
  await settled();
  assert.deepEqual(waits.woken, [0, 1, 2]);
  waits.wakeUps.wake(logName(LOG), 100);
  await settled();
  assert.deepEqual(waits.woken, [0, 1, 2, 3]);
});

test('a woken wait that is cancelled wakes the next one; one that found nothing does not', async (t) => {
  stopTime(t);
  const waits = new Waits();
  const [first, second] = [waits.wait(), waits.wait(), waits.wait()];
  waits.wakeUps.wake(logName(LOG), 1);
  await settled();
  first?.cancel();
  await settled();
  assert.deepEqual(waits.woken, [0, 1]);
  second?.foundNothing();
  await settled();
  assert.deepEqual(waits.woken, [0, 1]);
});

test('cancelling a wait that was not woken wakes no other', async (t) => {
  stopTime(t);
  const waits = new Waits();
  const first = waits.wait();
  waits.wait();
  first.cancel();
  await settled();
  assert.deepEqual(waits.woken, [0]);
});

test('a message that arrives while a woken receive reads wakes the next wait', async (t) => {
  stopTime(t);
  const waits = new Waits();
  const first = waits.wait();
  waits.wakeUps.wake(logName(LOG), 1);
  await settled();
  // Like a receive, it waits again before it reads.
  waits.wait();
  first.foundNothing();
  waits.wakeUps.wake(logName(LOG), 1);
  await settled();
  assert.deepEqual(waits.woken, [0, 1]);
});

test('a wait ends after its time', async (t) => {
  stopTime(t);
  const waits = new Waits();
  waits.wait(LOG, 300);
  mock.timers.tick(299);
  await settled();
  assert.deepEqual(waits.woken, []);
  mock.timers.tick(1);
  await settled();
  assert.deepEqual(waits.woken, [0]);
});

test('a hundred waits read as rarely as one, and less often the longer no message arrives', async (t) => {
  stopTime(t);
  const waits = new Waits();
  const looks = await waits.wakeUpsDuring(60_000);
  // Within about ten seconds, the rate falls from twice a second to every other second.
  assert.ok(looks > 25 && looks <= 40, `${looks} wake-ups in a minute`);
});

test('a wait ends earlier if the time of the next change is known', async (t) => {
  stopTime(t);
  const waits = new Waits();
  waits.wait().within(120);
  mock.timers.tick(120);
  await settled();
  assert.deepEqual(waits.woken, [0]);
});

test('closing ends all waits', async (t) => {
  stopTime(t);
  const waits = new Waits();
  for (let i = 0; i < 3; i++) waits.wait();
  waits.wakeUps.close();
  await settled();
  assert.deepEqual(waits.woken, [0, 1, 2]);
  assert.equal(waits.wakeUps.isClosing, true);
});
