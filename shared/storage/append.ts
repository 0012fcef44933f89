import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { assert } from '../domain/assert.ts';
import type { Block } from '../domain/block.ts';
import { BrokerError } from '../domain/broker-error.ts';
import type { RandomSource } from '../domain/clock.ts';
import type { Log } from '../domain/log.ts';
import type { Message } from '../domain/message.ts';
import { toBlockItem } from './block-item.ts';
import type { Table } from './dynamo.ts';
import { blockSortKey, headKey, logKey } from './keys.ts';
import { type PackedBlock, packBlocks } from './pack-blocks.ts';
import { putPayload } from './payloads.ts';
import type { StoreContext } from './store-context.ts';

/**
 * Stores messages at the end of a log: two round trips. First the numbers are taken and, at the
 * same time, payload items are written under names of their own; then the blocks go in, in one
 * write or one transaction. So a send is stored whole or not at all, and what a crash leaves behind
 * is a gap in the numbers or payload items that no block names. Returns the first number.
 *
 * Throws MessagingEntityNotFound where the entity is gone, ServiceBusy, ServiceTimeout.
 */
export async function append(
  context: StoreContext,
  log: Log,
  messages: readonly Message[],
  now: number,
): Promise<bigint> {
  const { table, random, fronts } = context;
  const packed = packBlocks(log, messages, now, () => payloadName(random));
  const [first] = await Promise.all([
    takeNumbers(table, log, messages.length),
    putPayload(table, log, pieces(packed), now),
  ]);

  let sequence = first;
  const puts: TransactWriteItem[] = [];
  for (const { parts: _, ...rest } of packed) {
    const block: Block = { store: 'live', sequence, enqueuedAt: now, ...rest };
    puts.push({ Put: { TableName: table.name, Item: toBlockItem(log, block) } });
    sequence += BigInt(rest.slots.size);
  }
  await putAll(table, puts);
  // Another sender may have overtaken this one; its block may be remembered as the end.
  fronts.noteBlock(logKey(log), blockSortKey('live', first));
  context.signal(logKey(log));
  return first;
}

function pieces(packed: readonly PackedBlock[]) {
  return packed.flatMap(({ payload: { reference }, parts }) =>
    reference === undefined ? [] : [{ reference, parts }],
  );
}

async function putAll(table: Table, puts: readonly TransactWriteItem[]): Promise<void> {
  const [only] = puts;
  if (puts.length === 1 && only?.Put?.Item !== undefined) await table.put(only.Put.Item);
  else await table.transact(puts);
}

/**
 * Takes `count` sequence numbers from the partition's counter and returns the first. The counter
 * exists exactly as long as the entity does, so a send that comes after a deletion is refused here,
 * whatever a cache may still believe.
 */
export async function takeNumbers(table: Table, log: Log, count: number): Promise<bigint> {
  const written = await table.update(headKey(log.entityId, log.partition), {
    UpdateExpression: 'ADD n :count',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':count': { N: String(count) } },
    ReturnValues: 'UPDATED_NEW',
  });
  if (!written.done) {
    throw new BrokerError('MessagingEntityNotFound', 'The messaging entity no longer exists.');
  }
  const last = written.item?.['n']?.N;
  assert(last !== undefined, 'a counter answers with its value');
  return BigInt(last) - BigInt(count) + 1n;
}

const NAME_BYTES = 9;

/** A name for payload items that nobody else has: 72 random bits. */
export function payloadName(random: RandomSource): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('base64url');
}
