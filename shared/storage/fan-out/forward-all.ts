import type { Forward } from '../../broker/ports/publication.ts';
import { surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import { BrokerError } from '../../domain/broker-error.ts';
import { readBlocks } from '../blocks/read-blocks.ts';
import { FIRST_BLOCK } from '../schema/message-keys.ts';
import { cleanUp } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { readBatch } from './move-source.ts';

const PAGE_BLOCKS = 20;
/** One call forwards at most this many pages; the sweep continues. */
const PAGES_MAX = 200;

/**
 * Forwards the messages of a log: those stored before its entity had ForwardTo, or dead letters of an entity with
 * ForwardDeadLetteredMessagesTo. Each block is one transaction with the blocks that it becomes, so no message is ever
 * in both places or in neither. Expired messages are dead-lettered or dropped. True = there are more than one call
 * forwards.
 */
export async function forwardAll(
  context: StoreContext,
  log: Log,
  policy: LogPolicy,
  forward: Forward,
): Promise<boolean> {
  let start: string | undefined = FIRST_BLOCK;
  for (let pages = 0; start !== undefined && pages < PAGES_MAX; pages++) {
    const page = await readBlocks(context, log, {
      from: start,
      limit: PAGE_BLOCKS,
      consistent: true,
    });
    const surveyed = page.blocks.map((block) => ({
      block,
      survey: surveyBlock(block, policy.rules, context.clock.now()),
    }));
    for (const { block, survey } of surveyed) {
      if (survey.free.length === 0) continue;
      const source = { log, taken: [{ block, slots: survey.free }] };
      const batch = await readBatch(context, source, block.enqueuedAt);
      if (batch !== undefined) await tryForward(forward, batch);
    }
    // No receive would find messages that expire here while they wait.
    await cleanUp(context, log, policy, surveyed);
    start = page.next;
  }
  return start !== undefined;
}

/** Forwards a batch; does nothing if a receiver or another process took the block first. */
async function tryForward(forward: Forward, batch: Parameters<Forward>[0]): Promise<void> {
  try {
    await forward(batch);
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'ConflictInProgress') throw error;
  }
}
