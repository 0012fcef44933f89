import { RefusalError } from './client-errors.ts';

/** Tries of a request that the service refused for the moment, with nothing done, and the pauses in between. */
const TRIES_MAX = 8;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
const NOTHING_DONE = new Set(['ServiceBusy', 'ConflictInProgress', 'TransactionAborted']);

/** Sends a request again as long as the service is busy, some times at most. Rejects as `once` does. */
export async function callUntilNotBusy<Answer>(
  once: () => Promise<Answer>,
  pause: (ms: number) => Promise<unknown>,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await once();
    } catch (error) {
      if (!isBusy(error) || tries >= TRIES_MAX) throw error;
      await pause(Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** tries));
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof RefusalError && (NOTHING_DONE.has(error.code) || error.status === 429);
}
