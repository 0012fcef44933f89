import type { Log } from '../../domain/blocks/log.ts';
import { fromBlockItem } from '../blocks/block-item.ts';
import type { Item, Table } from '../dynamodb/table.ts';
import { blockSortKey, logKey, parseBlockSortKey } from '../schema/message-keys.ts';

/** The numbers of messages in a log, by state. */
export interface Tally {
  readonly active: number;
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
  exhausted: 0,
  scheduled: 0,
  bytes: 0,
  isEstimate: false,
};

/** The sum of two tallies. */
export function add(a: Tally, b: Tally): Tally {
  return {
    active: a.active + b.active,
    exhausted: a.exhausted + b.exhausted,
    scheduled: a.scheduled + b.scheduled,
    bytes: a.bytes + b.bytes,
    isEstimate: a.isEstimate || b.isEstimate,
  };
}

/** How much a count reads. */
export interface CountBound {
  /** Items of the first page. Most logs have no more. */
  readonly firstItems: number;
  /** A log with about this many messages is counted one by one. */
  readonly exactMessages: number;
  /** Pages after the first, of 1 MB at most. */
  readonly exactPages: number;
  /** The parts of a range that are looked into for an estimate, and the items read of each. */
  readonly samples: number;
  readonly sampleItems: number;
}

/** The bound for the log of an entity with one partition: 250 items, or about 10,000 messages, or 60 read units. */
const WHOLE: CountBound = {
  firstItems: 250,
  exactMessages: 10_000,
  exactPages: 4,
  samples: 32,
  sampleItems: 6,
};
const SAMPLES_MIN = 2;
const FIRST_ITEMS_MIN = 25;

/** The bound where the counts of `count` logs share the cost of one. */
export function sharedBound(count: number): CountBound {
  return {
    ...WHOLE,
    firstItems: Math.max(FIRST_ITEMS_MIN, Math.ceil(WHOLE.firstItems / count)),
    exactMessages: Math.ceil(WHOLE.exactMessages / count),
    exactPages: Math.ceil(WHOLE.exactPages / count),
    samples: Math.max(SAMPLES_MIN, Math.ceil(WHOLE.samples / count)),
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
  let { tally, next } = await countPage(count, FIRST, bound.firstItems);
  if (next === undefined) return tally;
  const estimate = add(tally, await estimateFrom(count, next));
  if (messagesOf(estimate) > FAR_ABOVE * bound.exactMessages) return estimate;
  for (let pages = 0; pages < bound.exactPages; pages++) {
    const page = await countPage(count, next);
    tally = add(tally, page.tally);
    next = page.next;
    if (next === undefined) return tally;
  }
  return add(tally, await estimateFrom(count, next));
}

function messagesOf({ active, exhausted, scheduled }: Tally): number {
  return active + exhausted + scheduled;
}

interface CountedPage {
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
  return { tally: items.map(tallyOf).reduce(add, NOTHING), next };
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
  const width = Math.max(1, (to.end - from.start) / samples);
  const parts = Array.from({ length: samples }, async (_, i) => {
    const start = from.start + Math.floor(i * width);
    const stop = from.start + Math.floor((i + 1) * width);
    const begin = i === 0 ? first : blockSortKey(from.section, BigInt(start));
    return start < stop ? await sample(count, { ...from, start, stop, begin }) : NOTHING;
  });
  return (await Promise.all(parts)).reduce(add, NOTHING);
}

/** A part of a section: sequence numbers from `start`, of which the keys begin at `begin`, to before `stop`. */
interface Part extends Span {
  readonly begin: string;
  readonly stop: number;
}

async function sample(
  { table, log, bound, tallyOf }: LogCount,
  { section, begin, start, stop }: Part,
): Promise<Tally> {
  const last = `${blockSortKey(section, BigInt(stop - 1))}~`;
  const range = { from: begin, to: last, limit: bound.sampleItems, consistent: false };
  const { items, next } = await table.range(logKey(log), range);
  const tally = items.map(tallyOf).reduce(add, NOTHING);
  const spans = items.map(spanOf);
  return next === undefined
    ? tally
    : scaled(tally, Math.max(1, (stop - start) / readOf(spans, start)));
}

/** How many numbers the blocks of a sample stand for, of which the first follows `start`, and others the last. */
function readOf(spans: readonly Span[], start: number): number {
  const [first] = spans;
  const last = spans.at(-1);
  if (first === undefined || last === undefined) return 1;
  const filled = spans.reduce((sum, { start: from, end }) => sum + end - from, 0);
  const gap = (last.end - first.start - filled) / Math.max(1, spans.length - 1);
  // A part that begins within a block has its first key after that block, where nothing is missing.
  const isWithin = first.start - start < first.end - first.start;
  return Math.max(1, last.end - (isWithin ? first.start : start) + gap / 2);
}

function scaled({ active, exhausted, scheduled, bytes, isEstimate }: Tally, by: number): Tally {
  return {
    active: Math.round(active * by),
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
