import { SLOTS_MAX } from '../../domain/blocks/lock-token.ts';
import type { Log } from '../../domain/blocks/log.ts';
import { type BrokerError, invalidOperation } from '../../domain/broker-error.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import { keyOfItem } from '../dynamodb/table.ts';
import {
  AFTER_SECTIONS,
  AFTER_SESSIONS,
  blockSortKey,
  FIRST_SESSION,
  logKey,
  parseBlockSortKey,
  sessionOf,
} from '../schema/message-keys.ts';
import type { StoreContext } from '../store-context.ts';
import { lowestOf, type MessagePosition, positionsIn } from './positions.ts';

/** Blocks of one query. DynamoDB ends it after 1 MB. */
const PAGE_BLOCKS = 500;
/** Queries of one call: 25,000 blocks, or 50 MB of large ones. */
const PAGES_MAX = 50;
/** How many numbers one block covers at most. */
const SPAN = BigInt(SLOTS_MAX);

/**
 * The first `count` active and deferred messages of all sessions of a partition from a number on (semantics S12). Their
 * keys begin with the session, so it reads the blocks of every session, and keeps no more than the lowest positions
 * that it found. Within a session it passes over what is not among them. A message that is deferred meanwhile moves to
 * a higher key, so none is missed. Throws InvalidOperation if the sessions have more blocks than one call may read.
 */
export async function positionsInSessions(
  { table }: Pick<StoreContext, 'table'>,
  partition: Log,
  from: bigint,
  count: number,
): Promise<readonly MessagePosition[]> {
  let lowest: MessagePosition[] = [];
  let highest: bigint | undefined;
  let start: string | undefined = FIRST_SESSION;
  for (let pages = 0; start !== undefined; pages++) {
    if (pages === PAGES_MAX) throw tooManySessions(partition);
    const range = { from: start, to: AFTER_SESSIONS, limit: PAGE_BLOCKS, consistent: true };
    const { items, next } = await table.range(logKey(partition), range);
    for (const item of items) {
      const { sk } = keyOfItem(item);
      const { sequence } = parseBlockSortKey(sk);
      if (sequence + SPAN <= from || (highest !== undefined && sequence > highest)) continue;
      const positions = positionsIn(fromBlockItem(item), sessionOf(sk));
      lowest.push(...positions.filter((position) => position.sequence >= from));
      if (lowest.length < 2 * count) continue;
      lowest = lowestOf(lowest, count);
      highest = lowest[count - 1]?.sequence;
    }
    start = next && passOver(next, from, highest);
  }
  return lowestOf(lowest, count);
}

function tooManySessions({ entityKey }: Log): BrokerError {
  return invalidOperation(
    `The sessions of '${entityKey}' hold too much to be peeked together. Name a session to peek into it.`,
  );
}

/**
 * The sort key at which to go on reading, `next` or a later one of the same session: passes over blocks with numbers
 * below `from`, and over those above `highest`.
 */
function passOver(next: string, from: bigint, highest: bigint | undefined): string {
  const prefix = next.slice(0, next.lastIndexOf('/') + 1);
  const { section, sequence } = parseBlockSortKey(next);
  const isDeferred = section === 'deferred';
  // The message `from` may be in a block that starts up to SPAN numbers earlier.
  const first = from > SPAN ? from - SPAN : 0n;
  const firstDeferred = prefix + blockSortKey('deferred', first);
  if (highest !== undefined && sequence > highest) {
    return isDeferred ? prefix + AFTER_SECTIONS : firstDeferred;
  }
  if (sequence >= first) return next;
  return isDeferred ? firstDeferred : prefix + blockSortKey('live', first);
}
