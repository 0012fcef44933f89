import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import { KB, MB } from '../../../shared/domain/units.ts';
import type { Batch } from '../../../shared/push/ports.ts';
import { type EventFacts, printRecord } from './record.ts';

/** The longest event, bytes: Lambda takes requests of less than 6 MB. The last KB is a margin. */
export const EVENT_BYTES_MAX = 6 * MB - 1 * KB;

/**
 * Messages that take no more than this in the JSON batch format (`printedSize`) fit one event, whatever they are. No
 * part of a message takes more than 15 times its bytes there: the worst is an integer of one digit under a name of one
 * character, 6 bytes there, which becomes a message attribute and a property, 90 bytes. Most messages take less than
 * twice their bytes, so a larger claim mostly fits as well; `cut` divides one that does not.
 */
export const EVENT_CLAIM_BYTES = 400 * KB;

const HEAD = '{"Records":[';
const TAIL = ']}';
const FRAME_BYTES = HEAD.length + TAIL.length;

/** Prints the event of a batch; `undefined` if it is longer than Lambda takes. */
export function printEvent(batch: Batch, facts: EventFacts): string | undefined {
  const records: string[] = [];
  let bytes = FRAME_BYTES;
  for (const message of batch.messages) {
    const record = printRecord(batch, message, facts);
    bytes += Buffer.byteLength(record) + (records.length > 0 ? 1 : 0);
    if (bytes > EVENT_BYTES_MAX) return undefined;
    records.push(record);
  }
  return `${HEAD}${records.join(',')}${TAIL}`;
}

/** A batch in pieces of which each fits one event. */
export interface CutBatch {
  /** In order, each with at least one message. */
  readonly fits: readonly Batch[];
  /** Messages that are too large even alone. They are in no piece. */
  readonly tooLarge: readonly LockedMessage[];
}

/**
 * Cuts a batch, in order, into batches whose events are no longer than Lambda takes. It prints all messages, so call it
 * only for a batch whose call was `tooLarge`.
 */
export function cut(batch: Batch, facts: EventFacts): CutBatch {
  const pieces: LockedMessage[][] = [];
  const tooLarge: LockedMessage[] = [];
  let left = 0;
  for (const message of batch.messages) {
    const bytes = Buffer.byteLength(printRecord(batch, message, facts));
    if (bytes > EVENT_BYTES_MAX - FRAME_BYTES) {
      tooLarge.push(message);
      continue;
    }
    const piece = pieces.at(-1);
    if (piece !== undefined && bytes + 1 <= left) {
      piece.push(message);
      left -= bytes + 1;
    } else {
      pieces.push([message]);
      left = EVENT_BYTES_MAX - FRAME_BYTES - bytes;
    }
  }
  return { fits: pieces.map((messages) => ({ ...batch, messages })), tooLarge };
}
