import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';
import type { ResourceAnswer } from './cloud-formation.ts';

const TRIES_MAX = 4;
const PAUSE_MS_FIRST = 250;
const TRY_MS_MAX = 5000;

/**
 * Sends an answer to the address that CloudFormation gave, which takes one PUT. Throws Error after a few tries; then
 * Lambda invokes the function again with the same event.
 */
export async function sendAnswer(
  url: string,
  answer: ResourceAnswer,
  scheduler: Scheduler,
): Promise<void> {
  // Bytes, because the signature of the address covers a content type, and a text would get one.
  const body = new TextEncoder().encode(JSON.stringify(answer));
  for (let tries = 1; ; tries++) {
    const ending = new AbortController();
    const timer = scheduler.after(TRY_MS_MAX, () => ending.abort());
    try {
      const response = await fetch(url, { method: 'PUT', body, signal: ending.signal });
      await response.body?.cancel();
      if (response.ok) return;
      throw new Error(`CloudFormation did not take the answer: HTTP ${response.status}.`);
    } catch (error) {
      if (tries === TRIES_MAX) throw error;
    } finally {
      timer.cancel();
    }
    await pause(scheduler, PAUSE_MS_FIRST * 2 ** (tries - 1));
  }
}
