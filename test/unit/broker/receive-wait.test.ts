import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrival, Arrivals } from '../../../shared/broker/ports/wake-ups.ts';
import { Vigil } from '../../../shared/broker/receive/receive-wait.ts';

const NOW = 1_000_000;
const WAIT_MS = 60_000;

/** Notes what is asked of it; every wait is over at once. */
class NotedArrivals implements Arrivals {
  readonly isClosing = false;
  readonly noted: string[] = [];
  #waits = 0;

  wait(): Arrival {
    const number = this.#waits++;
    const note = (what: string) => this.noted.push(`${number} ${what}`);
    return {
      done: Promise.resolve(),
      within: (ms) => {
        if (Number.isFinite(ms)) note(`within ${ms}`);
      },
      lookedInVain: () => note('looked in vain'),
      cancel: () => note('cancelled'),
    };
  }
}

function startVigil(waitMs = WAIT_MS, signal?: AbortSignal) {
  const arrivals = new NotedArrivals();
  const parts = { arrivals, clock: { now: () => NOW }, monotonicNow: () => 0 };
  return { vigil: new Vigil(parts, waitMs, signal), noted: arrivals.noted };
}

test('who ends while it listens, or after it was woken, says so', async () => {
  const { vigil, noted } = startVigil();
  assert.equal(vigil.listen([]), true);
  await vigil.pause();
  assert.equal(vigil.listen([]), true);
  vigil.end();
  assert.deepEqual(noted, ['1 cancelled', '0 cancelled']);
});

test('who waits again after a look has looked in vain', async () => {
  const { vigil, noted } = startVigil();
  vigil.listen([]);
  await vigil.pause();
  vigil.listen([]);
  await vigil.pause();
  assert.deepEqual(noted, ['0 looked in vain']);
});

test('a look comes when something is known to change, unless that should have been already', async () => {
  const { vigil, noted } = startVigil();
  vigil.listen([]);
  await vigil.pause(NOW + 700);
  assert.deepEqual(noted, ['0 within 700']);
  vigil.listen([]);
  await vigil.pause(NOW);
  assert.deepEqual(noted, ['0 within 700', '0 looked in vain']);
});

test('without time to wait nobody listens', () => {
  assert.equal(startVigil(0).vigil.listen([]), false);
});

test('who gives up while it looks leaves to others what has woken it', async () => {
  const giving = new AbortController();
  const { vigil, noted } = startVigil(WAIT_MS, giving.signal);
  vigil.listen([]);
  await vigil.pause();
  vigil.listen([]);
  giving.abort();
  await vigil.pause();
  vigil.end();
  assert.deepEqual([vigil.isGivenUp, noted], [true, ['1 cancelled', '0 cancelled']]);
});
