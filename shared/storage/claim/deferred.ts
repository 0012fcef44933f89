import type { ReceivedMessage } from '../../broker/broker.ts';
import type { DeferredRequest } from '../../broker/ports/messages.ts';
import { type Block, slotOf, surveyBlock } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { sessionLockLost } from '../../domain/blocks/session.ts';
import { claimed, failedDeliveries } from '../../domain/blocks/slot.ts';
import { BrokerError, isUnknownOutcome, messageSizeExceeded } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import { holdPayloads } from '../../domain/messages/payload-account.ts';
import { resultOf } from '../../domain/result-of.ts';
import { isSameBytes } from '../../domain/same-bytes.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { asSeen, blockDelete, blockUpdate, ifSameProperties } from '../blocks/block-writes.ts';
import { loadMessages, releasePayload } from '../blocks/payloads.ts';
import { keyOf } from '../blocks/read-blocks.ts';
import type { Transacted } from '../dynamodb/requests.ts';
import { decided } from '../dynamodb/unknown-outcome.ts';
import { cleanUp } from '../settle/clean-up.ts';
import type { StoreContext } from '../store-context.ts';
import { requireAnswerable } from './answer-size.ts';
import { newTag } from './claim-blocks.ts';
import { tokenOf, toReceivedMessage } from './received-message.ts';

const NOT_LOCKED_TEXT =
  'Failed to lock one or more specified messages. Either the message is already locked or does not exist.';

/**
 * Receives deferred messages by sequence number: all of them, or none if one is locked, expired or missing
 * (semantics #68, #70). A deferred message has a block of its own, so one transaction locks all of them. Throws
 * MessageNotFound; MessageSizeExceeded if they do not fit into one answer; SessionLockLost if the lock of
 * their session has ended.
 */
export async function receiveDeferred(
  context: StoreContext,
  log: Log,
  request: DeferredRequest,
): Promise<readonly ReceivedMessage[]> {
  const { table } = context;
  const now = context.clock.now();
  const blocks = await readDeferred(context, log, request, now);
  requireReadable(blocks);
  holdPayloads(request.payloads, log, blocks);
  const loaded = await loadMessages(context, log, blocks);
  if (!blocks.every((block) => loaded.has(block))) throw notLocked();
  requireAnswerable(
    log,
    blocks.map((block) => ({ block, message: loaded.at(block, 0) })),
    request.answer,
  );
  const isLocking = request.mode === 'peekLock';
  const tag = newTag(context, request.rules);
  const holder = request.rules.session?.holder;
  // After the session's lock has ended, another receiver may hold the session and its messages.
  if (holder !== undefined && holder.lockedUntil <= context.clock.now()) throw sessionLockLost();
  const lockedUntil = holder?.lockedUntil ?? now + request.lockMs;
  const claiming = table.transact(
    blocks.map((block) => {
      const seen = asSeen(block, 0);
      const key = keyOf(log, block);
      if (!isLocking) return { delete: key, ...ifSameProperties(blockDelete([seen]), block) };
      const slot = claimed(slotOf(block, 0), tag, lockedUntil, request.rules);
      const update = blockUpdate([{ ...seen, effect: { kind: 'set', slot } }]);
      return { update: key, ...ifSameProperties(update, block) };
    }),
  );
  const isClaimed = await orLocked(context, log, blocks, isLocking ? tag : undefined, claiming);
  if (!isClaimed) throw notLocked();
  return blocks.map((block) => {
    if (!isLocking) context.background(() => releasePayload(table, log, block.payload));
    const slot = slotOf(block, 0);
    const seen = toReceivedMessage(log, block, 0, loaded.at(block, 0), request.rules);
    return {
      ...seen,
      state: 'Deferred' as const,
      failedDeliveries: failedDeliveries(slot, request.rules, now),
      ...(isLocking ? { lockToken: tokenOf(log, block, 0, tag), lockedUntil } : {}),
    };
  });
}

/** Whether the transaction took effect. If its outcome is unknown, the lock of the first message shows it. */
async function orLocked(
  { table }: StoreContext,
  log: Log,
  blocks: readonly Block[],
  tag: Uint8Array | undefined,
  claiming: Promise<Transacted>,
): Promise<boolean> {
  const outcome = await resultOf(claiming.then(decided));
  if ('value' in outcome) return outcome.value;
  if (tag === undefined || !isUnknownOutcome(outcome.error)) throw outcome.error;
  const keys = blocks.slice(0, 1).map((block) => keyOf(log, block));
  const looked = await resultOf(table.getMany(keys, { consistent: true }));
  const [item] = 'value' in looked ? looked.value : [];
  const locked = item && fromBlockItem(item).slots.get(0)?.tag;
  if (isSameBytes(locked, tag)) return true;
  throw outcome.error;
}

async function readDeferred(
  context: StoreContext,
  log: Log,
  request: DeferredRequest,
  now: number,
): Promise<readonly Block[]> {
  const keys = request.sequences.map((sequence) => keyOf(log, { section: 'deferred', sequence }));
  const items = await context.table.getMany(keys, { consistent: true });
  const found = new Map(items.map(fromBlockItem).map((block) => [block.sequence, block]));
  const blocks = request.sequences.flatMap((sequence) => found.get(sequence) ?? []);
  // The maximum delivery count does not apply: a deferred message is received only by its number (semantics L7).
  const rules = { ...request.rules, maxDeliveryCount: Number.POSITIVE_INFINITY };
  const surveys = blocks.map((block) => ({ block, survey: surveyBlock(block, rules, now) }));
  const expired = surveys.filter(({ survey }) => survey.expired.length > 0);
  await cleanUp(context, log, request, expired);
  const isFree = surveys.every(({ survey }) => survey.free.length === 1);
  if (blocks.length < request.sequences.length || !isFree) throw notLocked();
  return blocks;
}

/** Throws MessageSizeExceeded for more bytes than one request may read at once. */
function requireReadable(blocks: readonly Block[]): void {
  const bytes = blocks.reduce((sum, { payload }) => sum + payload.bytes, 0);
  const bytesMax = BUDGETS.request.deferredBytes;
  if (blocks.length <= 1 || bytes <= bytesMax) return;
  throw messageSizeExceeded(
    `The ${blocks.length} messages take ${bytes} bytes, which is more than the ${bytesMax} bytes that are received at once. None of them was received; name fewer.`,
  );
}

function notLocked(): BrokerError {
  return new BrokerError('MessageNotFound', NOT_LOCKED_TEXT);
}
