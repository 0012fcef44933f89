import { type Block, sequenceNumberOf } from '../blocks/block.ts';
import type { Log } from '../blocks/log.ts';

/** Counts what is read of messages, before it is read. */
export interface PayloadAccount {
  /**
   * Has room for messages of so many bytes, read together, the first of which has this sequence number.
   * Throws ServiceBusy where the process has none; MessageSizeExceeded where it never has.
   */
  hold(bytes: number, first: bigint): void;
}

/** Counts the messages of some blocks of a log. Throws as `hold`. */
export function holdPayloads(
  account: PayloadAccount | undefined,
  { partition }: Log,
  blocks: readonly Block[],
): void {
  const [first] = blocks;
  const bytes = blocks.reduce((sum, { payload }) => sum + payload.bytes, 0);
  if (first !== undefined) account?.hold(bytes, sequenceNumberOf(partition, first.sequence));
}
