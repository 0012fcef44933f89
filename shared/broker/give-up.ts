import type { Arrival } from './ports.ts';

/** Waits for an arrival, or until whoever waits gives up. */
export async function arrivalOr(signal: AbortSignal | undefined, arrival: Arrival): Promise<void> {
  const giveUp = () => arrival.cancel();
  signal?.addEventListener('abort', giveUp, { once: true });
  if (signal?.aborted) giveUp();
  await arrival.done;
  signal?.removeEventListener('abort', giveUp);
}
