import type { Block } from '../../domain/blocks/block.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Message } from '../../domain/messages/message.ts';
import { printedSize, printedSizeBound } from '../../domain/messages/printed-size.ts';

/**
 * The bytes that the messages of a block take in an answer, which a receive must know before it claims them. A block
 * stores them only if the bound from the size and number of its messages could make answers smaller, and with two
 * digits, which take 3 bytes of the item.
 */

/** Messages that take no more than this fit into an answer, as many as one receive may ask for. */
const ANSWER_SHARE_BYTES = Math.floor(LIMITS.answerBytes / LIMITS.receiveMessages);
const DIGITS = 2;

/** The printed bytes that a block stores for its messages; undefined if it need not. */
export function printedBytesToStore(
  messages: readonly Message[],
  bytes: number,
): number | undefined {
  if (printedSizeBound(bytes, messages.length) <= ANSWER_SHARE_BYTES) return undefined;
  return roundedUp(messages.reduce((sum, message) => sum + printedSize(message), 0));
}

/** Upper bound of the bytes that a block's messages take in an answer, without what its overlay adds to each. */
export function printedBytesOf({ payload, slots }: Pick<Block, 'payload' | 'slots'>): number {
  return payload.printedBytes ?? printedSizeBound(payload.bytes, slots.size);
}

function roundedUp(bytes: number): number {
  const step = 10 ** Math.max(0, String(bytes).length - DIGITS);
  return Math.ceil(bytes / step) * step;
}
