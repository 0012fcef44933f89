import { type AmqpValue, int, mapOf } from '../wire/value.ts';
import { Body, type Input } from './operation-input.ts';

/** The most messages that one request deletes, as in the vendor's service (semantics L14). */
const DELETE_MAX = 4000;

/**
 * `batch-delete-messages`: deletes messages enqueued before an instant. Returns how many, undefined if none.
 * It may delete fewer than there are.
 */
export async function batchDelete({ context, path, body }: Input): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const count = await context.dependencies.broker.deleteMessages(path, {
    sessionId: fields.text('session-id'),
    maxMessages: fields.requiredCount('message-count', DELETE_MAX),
    before: fields.requiredNumber('enqueued-time-utc'),
  });
  return count === 0 ? undefined : mapOf({ 'message-count': int(count) });
}
