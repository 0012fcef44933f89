import type { RemoveBeforeRequest } from '../../broker/ports/messages.ts';
import { surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { countDone } from '../../domain/count-done.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { readPages } from '../blocks/read-blocks.ts';
import { decided } from '../dynamodb/unknown-outcome.ts';
import type { StoreContext } from '../store-context.ts';

const PAGE_BLOCKS = 50;

/**
 * Removes active messages enqueued before an instant, oldest first, except locked ones (semantics L14). Returns how
 * many.
 */
export async function removeBefore(
  context: StoreContext,
  log: Log,
  request: RemoveBeforeRequest,
  policy: LogPolicy,
): Promise<number> {
  return await countDone(removals(context, log, request, policy));
}

/** Removes the messages of one block after the other; yields how many. */
async function* removals(
  context: StoreContext,
  log: Log,
  { maxMessages, before }: RemoveBeforeRequest,
  policy: LogPolicy,
): AsyncGenerator<number> {
  let left = maxMessages;
  for await (const blocks of readPages(context, log, PAGE_BLOCKS)) {
    for (const block of blocks) {
      // Not the end: a message that was scheduled may be older than its neighbours.
      if (block.enqueuedAt >= before) continue;
      const survey = surveyBlock(block, policy.rules, context.clock.now());
      const slots = survey.free.slice(0, left);
      if (slots.length === 0) continue;
      const outcome = await context.table.transact([removalOf(log, block, slots)]);
      if (!decided(outcome)) continue;
      if (slots.length === block.slots.size) {
        context.background(() => releasePayload(context.table, log, block.payload));
      }
      left -= slots.length;
      yield slots.length;
    }
    if (left <= 0) return;
  }
}
