import { checkReceived, lookAtAll } from './compare.ts';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';

/** More messages than any history sends. */
const ALL = 250;

/** Compares a queue at the end of a history, and again after all locks and delays have ended. */
export async function checkAfterwards(model: QueueModel, client: QueueClient): Promise<void> {
  model.history.push('afterwards, at once');
  await lookAtAll(model, client);
  model.history.push('afterwards, with all locks expired');
  const last = Math.max(model.now, ...model.messages.map(({ delayedUntil }) => delayedUntil));
  const ms = last - model.now + 2 * model.settings.lockMs;
  client.broker.clock.advance({ ms });
  model.advance(ms);
  for (const place of ['main', 'dead'] as const) {
    const received = await client.receive(place, 'receiveAndDelete', ALL, false);
    for (const message of checkReceived(model, place, received, ALL)) model.remove(message);
  }
  await lookAtAll(model, client);
}
