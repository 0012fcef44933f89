import type { TestContext } from 'node:test';

const MINUTE = 60_000;

/**
 * Unrefs timers of a minute and more, since the process must not wait for them: a client waits a minute for an answer
 * that was lost with its connection, and a link that opens while it is closed renews its claim 45 minutes later
 * (`_ensureTokenRenewal` of @azure/service-bus).
 */
export function unrefMinuteTimers(t: TestContext): void {
  const start = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms = 0, ...rest: []) => {
    const timer = start(work, ms, ...rest);
    return ms >= MINUTE ? timer.unref() : timer;
  });
}
