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
    counterId: entityId,
    entityKey: entityId,
    partition: 0,
    subQueue: 'main',
    generation: 0,
  };
}

const LOG = logNamed('queue');

/** Lets waits be told of by number, in the order in which they are woken. */
class Room {
  readonly wakeUps = new LocalWakeUps(realScheduler);
  readonly woken: number[] = [];
  #entered = 0;

  wait(log = LOG, ms = LONG_MS) {
    const number = this.#entered++;
    const arrival = this.wakeUps.wait([log], ms);
    void arrival.done.then(() => this.woken.push(number));
    return arrival;
  }

  /** Who is woken for `ms`, where nobody finds anything: each waits again. */
  async looksIn(ms: number): Promise<number> {
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

test('of those who wait on a log the one who waits longest is woken, others stay', async (t) => {
  stopTime(t);
  const room = new Room();
  for (let i = 0; i < 3; i++) room.wait();
  room.wait(logNamed('other'));
  room.wakeUps.wake(logName(LOG));
  await settled();
  assert.deepEqual(room.woken, [0]);
});

test('who was woken and got something lets the next one know; who looked in vain does not', async (t) => {
  stopTime(t);
  const room = new Room();
  const [first, second] = [room.wait(), room.wait(), room.wait()];
  room.wakeUps.wake(logName(LOG));
  await settled();
  first?.cancel();
  await settled();
  assert.deepEqual(room.woken, [0, 1]);
  second?.foundNothing();
  await settled();
  assert.deepEqual(room.woken, [0, 1]);
});

test('who leaves without having been woken disturbs nobody', async (t) => {
  stopTime(t);
  const room = new Room();
  const first = room.wait();
  room.wait();
  first.cancel();
  await settled();
  assert.deepEqual(room.woken, [0]);
});

test('what comes while the last one is away finds the next one who waits', async (t) => {
  stopTime(t);
  const room = new Room();
  const first = room.wait();
  room.wakeUps.wake(logName(LOG));
  await settled();
  // It listens again before it looks, as receives do.
  room.wait();
  first.foundNothing();
  room.wakeUps.wake(logName(LOG));
  await settled();
  assert.deepEqual(room.woken, [0, 1]);
});

test('a wait ends in its time', async (t) => {
  stopTime(t);
  const room = new Room();
  room.wait(LOG, 300);
  mock.timers.tick(299);
  await settled();
  assert.deepEqual(room.woken, []);
  mock.timers.tick(1);
  await settled();
  assert.deepEqual(room.woken, [0]);
});

test('a hundred who wait look as seldom as one, and less often the longer nothing comes', async (t) => {
  stopTime(t);
  const room = new Room();
  const looks = await room.looksIn(60_000);
  // Within some ten seconds from twice a second to every other second.
  assert.ok(looks > 25 && looks <= 40, `${looks} looks in a minute`);
});

test('a look is earlier where it is known when there may be something', async (t) => {
  stopTime(t);
  const room = new Room();
  room.wait().within(120);
  mock.timers.tick(120);
  await settled();
  assert.deepEqual(room.woken, [0]);
});

test('when all is over, everybody goes', async (t) => {
  stopTime(t);
  const room = new Room();
  for (let i = 0; i < 3; i++) room.wait();
  room.wakeUps.close();
  await settled();
  assert.deepEqual(room.woken, [0, 1, 2]);
  assert.equal(room.wakeUps.isClosing, true);
});
