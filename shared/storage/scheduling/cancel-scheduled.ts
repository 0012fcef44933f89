import type { Block } from '../../domain/blocks/block.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { BrokerError, serviceBusy } from '../../domain/broker-error.ts';
import { mapInTurns } from '../../domain/turns/loop-turns.ts';
import { removalOf } from '../blocks/block-removal.ts';
import { releasePayload } from '../blocks/payloads.ts';
import { decided } from '../dynamodb/unknown-outcome.ts';
import { findByNumber } from '../messages/find-by-number.ts';
import type { StoreContext } from '../store-context.ts';

const TRIES_MAX = 5;

/**
 * Removes scheduled messages before they come due: all of them, or none if one is missing or was already activated
 * (semantics #61, #62). Throws MessageNotFound, ServiceBusy.
 */
export async function cancelScheduled(
  context: StoreContext,
  log: Log,
  sequences: readonly bigint[],
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const cancellations = await findAll(context, log, sequences);
    const outcome = await context.table.transact(
      cancellations.map(({ block, slots }) => removalOf(log, block, slots)),
    );
    if (!decided(outcome)) continue;
    for (const { block, slots } of cancellations) {
      if (slots.length < block.slots.size) continue;
      context.background(() => releasePayload(context.table, log, block.payload));
    }
    return;
  }
  throw serviceBusy('Other operations kept changing the same scheduled messages. Try again.');
}

interface Cancellation {
  readonly block: Block;
  readonly slots: readonly number[];
}

async function findAll(
  context: StoreContext,
  log: Log,
  sequences: readonly bigint[],
): Promise<readonly Cancellation[]> {
  const found = await mapInTurns(context.requestTurns, sequences, (sequence) =>
    findByNumber(context, log, 'scheduled', sequence),
  );
  const byBlock = new Map<bigint, { block: Block; slots: number[] }>();
  for (const [i, target] of found.entries()) {
    if (target === undefined) throw notFound(sequences[i]);
    const { block, slot } = target;
    const cancellation = byBlock.get(block.sequence) ?? { block, slots: [] };
    // The block was read once for each number; a message that one of these reads did not see is gone.
    if (!cancellation.block.slots.has(slot)) throw notFound(sequences[i]);
    cancellation.slots.push(slot);
    byBlock.set(block.sequence, cancellation);
  }
  return [...byBlock.values()];
}

function notFound(sequence: bigint | undefined): BrokerError {
  return new BrokerError(
    'MessageNotFound',
    `The scheduled message with sequence number ${sequence} could not be found; it may have been activated or cancelled already.`,
  );
}
