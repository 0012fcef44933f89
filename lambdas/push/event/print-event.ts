import { KB, MB } from '../../../shared/domain/units.ts';
import type { Batch } from '../../../shared/push/ports.ts';
import { type EventFacts, printRecord } from './record.ts';

/** The longest event, bytes: Lambda takes requests of less than 6 MB. The last KB is a margin. */
export const EVENT_BYTES_MAX = 6 * MB - 1 * KB;

/**
 * Bytes of messages in the JSON batch format (`printedSize`) that one event mostly has room for: most messages take a
 * quarter more in an event. Many small properties take up to 15 times as much; a batch that does not fit is halved.
 */
export const EVENT_CLAIM_BYTES = 4 * MB;

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
