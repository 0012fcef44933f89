import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { watchLauncher } from './launcher.ts';

/** Exit codes after a second signal. As in shells, they are 128 + the signal's number. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Requests to stop the server: a signal, or the end of the npm that has started it. Before a call of `first`,
 * each of them ends the process at once.
 */
export class StopRequests {
  readonly #launcherEnded = watchLauncher();
  #isAwaited = false;

  constructor() {
    void this.#launcherEnded?.then(() => {
      if (!this.#isAwaited) process.kill(process.pid, 'SIGTERM');
    });
  }

  /** Resolves with the kind of the first request. A second signal ends the process at once. */
  first(): Promise<'signal' | 'npm'> {
    this.#isAwaited = true;
    return new Promise((resolve) => {
      void this.#launcherEnded?.then(() => resolve('npm'));
      let signalledAt: number | undefined;
      for (const [signal, exitCode] of Object.entries(SIGNALS)) {
        process.on(signal, () => {
          const now = performance.now();
          signalledAt ??= now;
          if (now > signalledAt && !this.#isForwarded(now - signalledAt)) process.exit(exitCode);
          resolve('signal');
        });
      }
    });
  }

  /** Whether npm forwarded the signal: Ctrl-C reaches all processes of a terminal, so it comes twice. */
  #isForwarded(afterMs: number): boolean {
    return this.#launcherEnded !== undefined && afterMs < BUDGETS.localServer.repeatedSignalMs;
  }
}
