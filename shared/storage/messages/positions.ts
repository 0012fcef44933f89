import type { Block } from '../../domain/blocks/block.ts';

/** The position of a message in a log. */
export interface MessagePosition {
  readonly sequence: bigint;
  readonly block: Block;
  readonly slotIndex: number;
  /** Where a partition's sessions are read together: the session of the message. */
  readonly sessionId?: string;
}

/** The positions of a block's messages. */
export function positionsIn(block: Block, sessionId?: string): MessagePosition[] {
  return Array.from(block.slots.keys(), (slotIndex) => ({
    sequence: block.sequence + BigInt(slotIndex),
    block,
    slotIndex,
    ...(sessionId === undefined ? {} : { sessionId }),
  }));
}

/**
 * The `count` lowest positions in order. A message that moved to another section between two reads was found twice; it
 * counts once, where it was found last.
 */
export function lowestOf(positions: readonly MessagePosition[], count: number): MessagePosition[] {
  const byNumber = new Map(positions.map((position) => [position.sequence, position]));
  return [...byNumber.values()].sort(bySequence).slice(0, count);
}

function bySequence(a: MessagePosition, b: MessagePosition): number {
  if (a.sequence === b.sequence) return 0;
  return a.sequence < b.sequence ? -1 : 1;
}
