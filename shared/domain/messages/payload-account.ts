import { type Block, sequenceNumberOf } from '../blocks/block.ts';
import type { Log } from '../blocks/log.ts';

/** Reserves memory for payloads before they are read. */
export interface PayloadAccount {
  /**
   * Reserves memory for messages of `bytes` bytes that are read together. `first` = the sequence number of
   * the first one, which the error names. Throws ServiceBusy if the process has too little memory free, and
   * MessageSizeExceeded if it never has enough.
   */
  hold(bytes: number, first: bigint): void;
}

/** Reserves memory for the messages of blocks of a log; does nothing without an account. Throws as `hold`. */
export function holdPayloads(
  account: PayloadAccount | undefined,
  { partition }: Log,
  blocks: readonly Block[],
): void {
  const [first] = blocks;
  const bytes = blocks.reduce((sum, { payload }) => sum + payload.bytes, 0);
  if (first !== undefined) account?.hold(bytes, sequenceNumberOf(partition, first.sequence));
}
