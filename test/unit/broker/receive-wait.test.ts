import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WakeUp, WakeUps } from '../../../shared/broker/ports/wake-ups.ts';
import { ReceiveWait } from '../../../shared/broker/receive/receive-wait.ts';

const NOW = 1_000_000;
const WAIT_MS = 60_000;

/** Records calls; every wait ends at once. */
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
      foundNothing: () => note('found nothing'),
      cancel: () => note('cancelled'),
    };
  }
}

function startWait(waitMs = WAIT_MS, signal?: AbortSignal) {
  const wakeUps = new NotedWakeUps();
  const dependencies = { wakeUps, clock: { now: () => NOW }, monotonicNow: () => 0 };
  return { wait: new ReceiveWait(dependencies, waitMs, signal), noted: wakeUps.noted };
}

test('a receive that ends cancels its wake-ups, both the pending one and the one that woke it', async () => {
  const { wait, noted } = startWait();
  assert.equal(wait.listen([]), true);
  await wait.pause();
  assert.equal(wait.listen([]), true);
  wait.end();
  assert.deepEqual(noted, ['1 cancelled', '0 cancelled']);
});

test('a receive that waits again after a wake-up reports that it found nothing', async () => {
  const { wait, noted } = startWait();
  wait.listen([]);
  await wait.pause();
  wait.listen([]);
  await wait.pause();
  assert.deepEqual(noted, ['0 found nothing']);
});

test('a receive wakes up when a change is due, unless that time is already over', async () => {
  const { wait, noted } = startWait();
  wait.listen([]);
  await wait.pause([NOW + 700]);
  assert.deepEqual(noted, ['0 within 700']);
  wait.listen([]);
  await wait.pause([NOW, NOW + 300]);
  assert.deepEqual(noted, ['0 within 700', '0 found nothing', '1 within 300']);
});

test('a receive without waiting time does not listen', () => {
  assert.equal(startWait(0).wait.listen([]), false);
});

test('an aborted receive cancels the wake-up that woke it, which then goes to another receive', async () => {
  const giving = new AbortController();
  const { wait, noted } = startWait(WAIT_MS, giving.signal);
  wait.listen([]);
  await wait.pause();
  wait.listen([]);
  giving.abort();
  await wait.pause();
  wait.end();
  assert.deepEqual([wait.isAborted, noted], [true, ['1 cancelled', '0 cancelled']]);
});
