import type { TestContext } from 'node:test';

const MINUTE = 60_000;

/**
 * Unrefs timers of a minute: a client waits that long for an answer that was lost with its connection, and the
 * process must not.
 */
export function unrefMinuteTimers(t: TestContext): void {
  const start = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number, ...rest: []) => {
    const timer = start(work, ms, ...rest);
    return ms === MINUTE ? timer.unref() : timer;
  });
}
