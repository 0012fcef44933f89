import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WakeUp, WakeUps } from '../../../shared/broker/ports/wake-ups.ts';
import { ReceiveWait } from '../../../shared/broker/receive/receive-wait.ts';

const NOW = 1_000_000;
const WAIT_MS = 60_000;

/** Notes what is asked of it; every wait is over at once. */
class NotedWakeUps implements WakeUps {
  readonly isClosing = false;
  readonly noted: string[] = [];
  #waits = 0;

  wait(): WakeUp {
    const number = this.#waits++;
    const note = (what: string) => this.noted.push(`${number} ${what}`);
    return {
      done: Promise.resolve(),
      within: (ms) => {
        if (Number.isFinite(ms)) note(`within ${ms}`);
      },
      foundNothing: () => note('looked in vain'),
      cancel: () => note('cancelled'),
    };
  }
}

function startVigil(waitMs = WAIT_MS, signal?: AbortSignal) {
  const wakeUps = new NotedWakeUps();
  const parts = { wakeUps, clock: { now: () => NOW }, monotonicNow: () => 0 };
  return { wait: new ReceiveWait(parts, waitMs, signal), noted: wakeUps.noted };
}

test('who ends while it listens, or after it was woken, says so', async () => {
  const { wait, noted } = startVigil();
  assert.equal(wait.listen([]), true);
  await wait.pause();
  assert.equal(wait.listen([]), true);
  wait.end();
  assert.deepEqual(noted, ['1 cancelled', '0 cancelled']);
});

test('who waits again after a look has looked in vain', async () => {
  const { wait, noted } = startVigil();
  wait.listen([]);
  await wait.pause();
  wait.listen([]);
  await wait.pause();
  assert.deepEqual(noted, ['0 looked in vain']);
});

test('a look comes when something is known to change, unless that should have been already', async () => {
  const { wait, noted } = startVigil();
  wait.listen([]);
  await wait.pause(NOW + 700);
  assert.deepEqual(noted, ['0 within 700']);
  wait.listen([]);
  await wait.pause(NOW);
  assert.deepEqual(noted, ['0 within 700', '0 looked in vain']);
});

test('without time to wait nobody listens', () => {
  assert.equal(startVigil(0).wait.listen([]), false);
});

test('who gives up while it looks leaves to others what has woken it', async () => {
  const giving = new AbortController();
  const { wait, noted } = startVigil(WAIT_MS, giving.signal);
  wait.listen([]);
  await wait.pause();
  wait.listen([]);
  giving.abort();
  await wait.pause();
  wait.end();
  assert.deepEqual([wait.isAborted, noted], [true, ['1 cancelled', '0 cancelled']]);
});
