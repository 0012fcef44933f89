/** The regular sweep of the local server; in a deployment an EventBridge schedule starts the sweeps. */
export interface Sweeping {
  /** Sweeps now, or after the current sweep if one runs. Rejects with the error of this sweep. */
  now(): Promise<void>;
  /** Ends the sweeps. Resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Sweeps at an interval, one at a time. After a failure, which it reports, the next sweep still comes. */
export function startSweeping(
  sweep: () => Promise<void>,
  intervalMs: number,
  report: (error: unknown) => void,
): Sweeping {
  let last = Promise.resolve();
  let waiting: Promise<void> | undefined;

  const now = () => {
    // A call while a sweep waits for its turn joins that sweep.
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
