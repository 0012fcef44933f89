import type { Log } from '../../domain/blocks/log.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import { blockSortKey, logKey, parseBlockSortKey } from '../schema/message-keys.ts';
import type { CountBound } from './count-bound.ts';

/** The numbers of messages in a log, by state. */
export interface Tally {
  /** Deferred ones among them. */
  readonly active: number;
  readonly deferred: number;
  /** Messages without a delivery left: dead letters that were not moved yet (semantics #24). */
  readonly exhausted: number;
  readonly scheduled: number;
  readonly bytes: number;
  /** Whether not all messages were read, so that the numbers are extrapolated. */
  readonly isEstimate: boolean;
}

/** The tally of an empty log. */
export const NOTHING: Tally = {
  active: 0,
  deferred: 0,
  exhausted: 0,
  scheduled: 0,
  bytes: 0,
  isEstimate: false,
};

/** The sum of two tallies. */
export function add(a: Tally, b: Tally): Tally {
  return {
    active: a.active + b.active,
    deferred: a.deferred + b.deferred,
    exhausted: a.exhausted + b.exhausted,
    scheduled: a.scheduled + b.scheduled,
    bytes: a.bytes + b.bytes,
    isEstimate: a.isEstimate || b.isEstimate,
  };
}

/** What the counting of one log needs. */
export interface LogCount {
  readonly table: Table;
  readonly log: Log;
  readonly bound: CountBound;
  /** The tally of one block. */
  readonly tallyOf: (item: Item) => Tally;
}

/** Estimates this far above `exactMessages` are believed without reading more. */
const FAR_ABOVE = 1.5;
/** The first key of a block, in a session or not, and a key after the last block of all sections. */
const FIRST = '/';
const AFTER_BLOCKS = 't';

/**
 * Counts the messages of a log, eventually consistent. Few are read one by one. Of many, samples are read that are
 * spread over the sequence numbers; what lies between them is assumed to be as dense. Of a log with sessions, whose
 * messages are not in the order of their numbers, only what was read counts: a lower bound.
 */
export async function countLog(count: LogCount): Promise<Tally> {
  const { bound } = count;
  const { budget } = bound;
  const first = await countPage(count, FIRST, budget.firstPage(bound.firstItems));
  budget.noteFirstPage(first.items);
  let { tally, next } = first;
  if (next === undefined) return tally;
  const estimate = add(tally, await estimateFrom(count, next));
  let paid = messagesOf(estimate);
  if (paid > FAR_ABOVE * bound.exactMessages) return estimate;
  if (!budget.take(paid - messagesOf(tally))) return estimate;
  for (let pages = 0; pages < bound.exactPages; pages++) {
    const page = await countPage(count, next);
    tally = add(tally, page.tally);
    next = page.next;
    if (next === undefined) return tally;
    const more = Math.max(0, messagesOf(tally) - paid);
    if (!budget.take(more)) break;
    paid += more;
  }
  return add(tally, await estimateFrom(count, next));
}

function messagesOf({ active, exhausted, scheduled }: Tally): number {
  return active + exhausted + scheduled;
}

interface CountedPage {
  readonly items: number;
  readonly tally: Tally;
  readonly next: string | undefined;
}

async function countPage(
  { table, log, tallyOf }: LogCount,
  from: string,
  limit?: number,
): Promise<CountedPage> {
  const range = { from, to: AFTER_BLOCKS, limit, consistent: false };
  const { items, next } = await table.range(logKey(log), range);
  return { items: items.length, tally: items.map(tallyOf).reduce(add, NOTHING), next };
}

const SECTIONS = ['live', 'deferred', 'scheduled'] as const;

/** Estimates the messages from a sort key on. */
async function estimateFrom(count: LogCount, from: string): Promise<Tally> {
  const sections = await Promise.all(
    SECTIONS.map(async (section) => {
      const first = blockSortKey(section, 0n);
      const last = `${first.charAt(0)}g`;
      return from > last
        ? NOTHING
        : await estimateSection(count, from > first ? from : first, last);
    }),
  );
  return { ...sections.reduce(add, NOTHING), isEstimate: true };
}

/** Estimates the messages of one section between two sort keys, in which keys are in the order of numbers. */
async function estimateSection(count: LogCount, first: string, end: string): Promise<Tally> {
  const [from, to] = await Promise.all([
    edge(count, first, end, true),
    edge(count, first, end, false),
  ]);
  if (from === undefined || to === undefined) return NOTHING;
  const { samples } = count.bound;
  const looks = { left: samples * LOOKS_PER_SAMPLE };
  const width = Math.max(1, (to.end - from.start) / samples);
  const parts = Array.from({ length: samples }, async (_, i) => {
    const start = from.start + Math.floor(i * width);
    const stop = from.start + Math.floor((i + 1) * width);
    const begin = i === 0 ? first : keyAt(from.section, start);
    return await estimatePart(count, { section: from.section, begin, start, stop }, looks);
  });
  return (await Promise.all(parts)).reduce(add, NOTHING);
}

/** Looks into the middle of a part at most, on average over all parts: one, and more around gaps. */
const LOOKS_PER_SAMPLE = 4;

/** A part of a section: sequence numbers from `start` to before `stop`; keys from `begin` on. */
interface Part {
  readonly section: Span['section'];
  readonly begin: string;
  readonly start: number;
  readonly stop: number;
}

/** The first blocks of a part. */
interface Sample {
  readonly tally: Tally;
  readonly spans: readonly Span[];
  /** Whether the part has no others. */
  readonly isAll: boolean;
  /** Where the part really begins: most of a gap in front of its first block does not count. */
  readonly from: number;
  /** The usual distance from one block to the next, in numbers. */
  readonly pitch: number;
}

/** Whether so much more than the usual distance between two blocks lies before a block that it is a gap. */
const GAP = 4;

/**
 * Estimates the messages of a part from its first blocks and those from its middle on. If a gap lies before the middle
 * or nothing behind it, the two halves are estimated on their own, as long as `looks` are left.
 */
async function estimatePart(count: LogCount, part: Part, looks: { left: number }): Promise<Tally> {
  const { section, stop } = part;
  const first = await readSample(count, part);
  const end = first.spans.at(-1)?.end;
  if (first.isAll || end === undefined) return first.tally;
  const read = first.pitch * first.spans.length;
  if (looks.left <= 0) return scaled(first.tally, (stop - first.from) / read);
  looks.left--;
  const middle = end + Math.floor((stop - end) / 2);
  const upper = { section, begin: keyAt(section, middle), start: middle, stop };
  const second = await readSample(count, upper);
  const pitch = Math.max(first.pitch, second.pitch);
  const isDense = second.spans.length > 0 && second.from - middle <= GAP * pitch;
  const lower = { section, begin: keyAt(section, end), start: end, stop: middle };
  if (isDense && !second.isAll) {
    const all = read + second.pitch * second.spans.length;
    return scaled(add(first.tally, second.tally), (stop - first.from) / all);
  }
  const front = isDense
    ? scaled(first.tally, (middle - first.from) / read)
    : add(first.tally, await estimatePart(count, lower, looks));
  if (second.isAll) return add(front, second.tally);
  const begin = keyAt(section, second.from);
  return add(front, await estimatePart(count, { ...upper, begin, start: second.from }, looks));
}

function keyAt(section: Part['section'], sequence: number): string {
  return blockSortKey(section, BigInt(sequence));
}

async function readSample(
  { table, log, bound, tallyOf }: LogCount,
  { section, begin, start, stop }: Part,
): Promise<Sample> {
  if (start >= stop) return { tally: NOTHING, spans: [], isAll: true, from: start, pitch: 1 };
  const last = `${keyAt(section, stop - 1)}~`;
  const range = { from: begin, to: last, limit: bound.sampleItems, consistent: false };
  const { items, next } = await table.range(logKey(log), range);
  const spans = items.map(spanOf);
  const pitch = pitchOf(spans);
  const beginning = spans[0]?.start ?? start;
  return {
    tally: items.map(tallyOf).reduce(add, NOTHING),
    spans,
    isAll: next === undefined,
    from: beginning - Math.min(beginning - start, Math.floor(gapOf(spans) / 2)),
    pitch,
  };
}

/** How many sequence numbers lie between two blocks on average: those of removed or other messages. */
function gapOf(spans: readonly Span[]): number {
  const first = spans[0]?.start ?? 0;
  const last = spans.at(-1)?.end ?? 0;
  const filled = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  return Math.max(0, (last - first - filled) / Math.max(1, spans.length - 1));
}

/** The usual distance from the begin of a block to that of the next. */
function pitchOf(spans: readonly Span[]): number {
  const filled = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  return Math.max(1, filled / Math.max(1, spans.length) + gapOf(spans));
}

function scaled(tally: Tally, times: number): Tally {
  const { active, deferred, exhausted, scheduled, bytes, isEstimate } = tally;
  const by = Math.max(1, times);
  return {
    active: Math.round(active * by),
    deferred: Math.round(deferred * by),
    exhausted: Math.round(exhausted * by),
    scheduled: Math.round(scheduled * by),
    bytes: Math.round(bytes * by),
    isEstimate,
  };
}

/** The sequence numbers of a block: from `start` to before `end`. */
interface Span {
  readonly section: (typeof SECTIONS)[number];
  readonly start: number;
  readonly end: number;
}

/** The first or the last block between two sort keys. */
async function edge(
  { table, log }: LogCount,
  from: string,
  to: string,
  isFirst: boolean,
): Promise<Span | undefined> {
  const { items } = await table.query({
    KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':pk': { S: logKey(log) },
      ':from': { S: from },
      ':to': { S: to },
    },
    ScanIndexForward: isFirst,
    Limit: 1,
  });
  return items[0] && spanOf(items[0]);
}

function spanOf(item: Item): Span {
  const { section, sequence } = parseBlockSortKey(item['sk']?.S ?? '');
  const start = Number(sequence);
  const slots = Math.max(0, ...fromBlockItem(item).slots.keys()) + 1;
  return { section: section === 'returned' ? 'live' : section, start, end: start + slots };
}
