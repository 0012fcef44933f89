import type { Copy } from './copy.ts';
import type { Ledger } from './ledger.ts';
import { type Violation, violation } from './violation.ts';

/** Messages with one key are in one partition of a queue (semantics #P7). */
export function checkPartitions(ledger: Ledger): readonly Violation[] {
  const firsts = new Map<string, Copy>();
  for (const copy of ledger.copies) {
    const { tag, end, sent, message } = copy;
    const key = message.sessionId ?? message.partitionKey;
    const partition = partitionOf(copy);
    if (key === undefined || partition === undefined) continue;
    const place = `${end} ${key}`;
    const first = firsts.get(place) ?? copy;
    firsts.set(place, first);
    if (partitionOf(first) === partition) continue;
    const text = `${first.tag} and ${tag} have the key ${key}, and are in two partitions of ${end}`;
    return [violation('partition', text, [first.sent, sent], [first.tag, tag])];
  }
  return [];
}

/** The partition of a message, according to its number, if a client has seen it. */
function partitionOf({ tag, to, end, sent, sequenceNumber }: Copy): bigint | undefined {
  const number = sequenceNumber ?? (to === end ? sent.numbers?.get(tag) : undefined);
  return number === undefined ? undefined : number >> 48n;
}
