/**
 * A monotonic clock that a test moves ahead without waiting. It goes on by itself as well, so that
 * real timers and this clock agree while nobody moves it.
 */
export class VirtualTime {
  #skippedMs = 0;

  /** For `ComposeSettings.monotonicNow`. */
  readonly now = (): number => performance.now() + this.#skippedMs;

  /** For `ComposeSettings.pause`: the time passes at once. */
  readonly pause = (ms: number): Promise<void> => {
    this.skip(ms);
    return Promise.resolve();
  };

  /** Moves the clock ahead. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }
}
