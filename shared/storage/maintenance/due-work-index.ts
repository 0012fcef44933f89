import type { Log } from '../../domain/blocks/log.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Clock, RandomSource } from '../../domain/clock.ts';
import { MINUTE_MS } from '../../domain/units.ts';
import type { Document, DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import { dueWorkCollection } from '../schema/entity-keys.ts';
import { sessionPrefix } from '../schema/message-keys.ts';

/** A reminder that the sweep has work to do for a log. */
export interface DueWork {
  readonly log: Log;
  /** Epoch ms. */
  readonly dueAt: number;
  /** Random id of one write of this entry; absent in entries of earlier versions. */
  readonly stamp?: string;
  /** How often the work has failed. */
  readonly attempts: number;
}

/** The work of the sweep by due time. In an idle namespace none is due, and reading it costs half a read unit. */
export class DueWorkIndex {
  readonly #table: DocumentTable;
  readonly #collection: string;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  /** Sort keys of entries that this process has written. */
  readonly #written = new BoundedMap<string, true>(WRITTEN_MAX);

  constructor(
    table: DocumentTable,
    namespace: string,
    { clock, random }: { readonly clock: Clock; readonly random: RandomSource },
  ) {
    this.#table = table;
    this.#collection = dueWorkCollection(namespace);
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Adds work for a log at an instant, epoch ms. One write unit; nothing if this process has written the same entry
   * and it certainly still exists.
   */
  async add(log: Log, instant: number): Promise<void> {
    // Instants within one step share an entry.
    const entry = { log, dueAt: roundUp(instant, STEP_MS), attempts: 0 };
    const sk = sortKeyOf(entry);
    // Another process removes entries when they are due; its clock is ahead of ours by less than a step.
    const isStillThere = entry.dueAt - this.#clock.now() > STEP_MS;
    if (isStillThere && this.#written.get(sk)) return;
    await this.#put(entry);
    this.#written.set(sk, true);
  }

  /** The write that adds work for a log at an instant, epoch ms, in a transaction. Two write units. */
  putOf(log: Log, instant: number): DocumentWrite {
    const entry = { log, dueAt: roundUp(instant, STEP_MS), attempts: 0 };
    return { Put: { TableName: this.#table.name, Item: this.#itemOf(this.#stamped(entry)) } };
  }

  /** One page of due work, earliest first, read eventually consistent; `after` = the last entry of the page before. */
  async due(now: number, limit: number, after?: DueWork): Promise<readonly DueWork[]> {
    // No other sort key lies between a sort key and the same one with a blank appended.
    const from = after === undefined ? instantKey(0) : `${sortKeyOf(after)} `;
    const until = { from, to: `${instantKey(now)}~` };
    const documents = await this.#table.range(this.#collection, until, limit);
    return documents.map(({ log, dueAt, stamp, attempts }) => ({
      log: log as Log,
      dueAt: Number(dueAt),
      attempts: Number(attempts ?? 0),
      ...(stamp === undefined ? {} : { stamp: String(stamp) }),
    }));
  }

  /** Removes an entry, unless it was added again since it was read, because then there is new work. */
  async remove(entry: DueWork): Promise<void> {
    const sk = sortKeyOf(entry);
    this.#written.delete(sk);
    const { stamp } = entry;
    await this.#table.delete(
      { pk: this.#collection, sk },
      stamp === undefined
        ? { ConditionExpression: 'attribute_not_exists(stamp)' }
        : {
            ConditionExpression: 'stamp = :stamp',
            ExpressionAttributeValues: { ':stamp': stamp },
          },
    );
  }

  /**
   * Moves an entry whose work failed, or may fail, to a later instant, and counts one more attempt. The delay doubles
   * with each attempt, up to a maximum. Entries of one log that keep failing come due at the same instants and merge
   * into one. Returns the new entry.
   */
  async postpone(entry: DueWork): Promise<DueWork> {
    const attempts = entry.attempts + 1;
    const delayMs = Math.min(RETRY_MS_FIRST * 2 ** (attempts - 1), RETRY_MS_MAX);
    const dueAt = roundUp(this.#clock.now() + delayMs, delayMs);
    // The new entry first: a crash in between leaves both, so the work is done twice at worst.
    const later = await this.#put({ log: entry.log, dueAt, attempts });
    await this.remove(entry);
    return later;
  }

  async #put(entry: DueWork): Promise<DueWork> {
    const stamped = this.#stamped(entry);
    await this.#table.put(this.#itemOf(stamped));
    return stamped;
  }

  #stamped(entry: DueWork): DueWork {
    const stamp = Buffer.from(this.#random.bytes(STAMP_BYTES)).toString('base64url');
    return { ...entry, stamp };
  }

  #itemOf(entry: DueWork): Document {
    return { pk: this.#collection, sk: sortKeyOf(entry), ...entry };
  }
}

const INSTANT_DIGITS = 15;
/** Precision of due times; the sweep runs once a minute. */
const STEP_MS = 10_000;
const WRITTEN_MAX = 10_000;
const STAMP_BYTES = 6;
/** Delay before failed work is tried again for the first time; each failure doubles it, up to RETRY_MS_MAX. */
const RETRY_MS_FIRST = MINUTE_MS;
/** The longest delay before failed work is tried again. */
const RETRY_MS_MAX = 15 * MINUTE_MS;

function roundUp(instant: number, stepMs: number): number {
  return Math.ceil(instant / stepMs) * stepMs;
}

function instantKey(instant: number): string {
  return String(instant).padStart(INSTANT_DIGITS, '0');
}

/** Names the log, or the session in it, that an entry is about. */
export function subjectOf({ log }: Pick<DueWork, 'log'>): string {
  const { entityId, partition, generation } = log;
  return `${entityId}.${partition}.${generation}${sessionPrefix(log)}`;
}

/** A postponed entry has a key of its own, so that it does not replace new work for the same instant. */
function sortKeyOf(entry: Pick<DueWork, 'log' | 'dueAt' | 'attempts'>): string {
  const postponed = entry.attempts > 0 ? '+' : '';
  return `${instantKey(entry.dueAt)}${postponed}/${subjectOf(entry)}`;
}
