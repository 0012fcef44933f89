import { isBusy } from './broker-error.ts';

/**
 * Adds up work that is done part by part. A refusal as busy after the first part ends the work and is not
 * passed on: it would say that nothing was done.
 */
export async function countDone(parts: AsyncIterable<number>): Promise<number> {
  let done = 0;
  try {
    for await (const count of parts) done += count;
  } catch (error) {
    if (done === 0 || !isBusy(error)) throw error;
  }
  return done;
}
