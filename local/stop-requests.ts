import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { watchLauncher } from './launcher.ts';

/** Exit codes after a second signal, as shells have them: 128 + the signal's number. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * What asks the server to stop: a signal, or the end of the npm that has started it. Until `first` is
 * called, each of them ends the process at once.
 */
export class StopRequests {
  readonly #launcherEnded = watchLauncher();
  #isAwaited = false;

  constructor() {
    void this.#launcherEnded?.then(() => {
      if (!this.#isAwaited) process.kill(process.pid, 'SIGTERM');
    });
  }

  /** Resolves with who asked first; a second signal does not wait for anything. */
  first(): Promise<'signal' | 'npm'> {
    this.#isAwaited = true;
    return new Promise((resolve) => {
      void this.#launcherEnded?.then(() => resolve('npm'));
      let signalledAt: number | undefined;
      for (const [signal, exitCode] of Object.entries(SIGNALS)) {
        process.on(signal, () => {
          const now = performance.now();
          signalledAt ??= now;
          if (now > signalledAt && !this.#isPassedOn(now - signalledAt)) process.exit(exitCode);
          resolve('signal');
        });
      }
    });
  }

  /** Ctrl-C reaches all processes of a terminal, and npm passes it on: the server hears it twice. */
  #isPassedOn(afterMs: number): boolean {
    return this.#launcherEnded !== undefined && afterMs < BUDGETS.localServer.repeatedSignalMs;
  }
}
