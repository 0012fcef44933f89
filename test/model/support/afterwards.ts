import { checkReceived, lookAtAll } from './compare.ts';
import type { QueueClient } from './queue-client.ts';
import type { QueueModel } from './queue-model.ts';

/** More than any history sends. */
const ALL = 250;

/** Looks at a queue as a history left it, and once more when no lock and no delay is left. */
export async function checkAfterwards(model: QueueModel, client: QueueClient): Promise<void> {
  model.history.push('afterwards, at once');
  await lookAtAll(model, client);
  model.history.push('afterwards, with all locks over');
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
