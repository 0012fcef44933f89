/** The regular sweep of the local server; in the cloud a schedule does this. */
export interface Sweeping {
  /** Sweeps now, after the sweep that may be under way. Rejects with its error. */
  now(): Promise<void>;
  /** No more sweeps. Resolves once the one under way has ended. */
  stop(): Promise<void>;
}

/** Sweeps at an interval, one at a time. A sweep that fails is reported, and the next one comes. */
export function startSweeping(
  sweep: () => Promise<void>,
  intervalMs: number,
  report: (error: unknown) => void,
): Sweeping {
  let last = Promise.resolve();
  let waiting: Promise<void> | undefined;

  const now = () => {
    // Whoever asks while one waits its turn is served by that one.
    waiting ??= last.then(() => {
      waiting = undefined;
      const running = sweep();
      last = running.catch(() => {});
      return running;
    });
    return waiting;
  };
  const timer = setInterval(() => void now().catch(report), intervalMs);
  timer.unref();
  return {
    now,
    stop: async () => {
      clearInterval(timer);
      await (waiting ?? last).catch(() => {});
    },
  };
}
