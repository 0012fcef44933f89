import type { Log } from '../../domain/blocks/log.ts';
import type { Clock, RandomSource } from '../../domain/clock.ts';
import type { DocumentTable } from '../dynamodb/document-table.ts';
import { agendaOf } from '../schema/entity-keys.ts';
import { sessionPrefix } from '../schema/message-keys.ts';

/** Something the sweep will have to do for a log. */
export interface AgendaEntry {
  readonly log: Log;
  /** Epoch ms. */
  readonly dueAt: number;
  /** Names one note of this entry; absent in entries of earlier versions. */
  readonly stamp?: string;
  /** How often the work has failed. */
  readonly attempts: number;
}

/**
 * What the sweep has to do when, in order of time. An idle namespace has nothing here, and looking
 * costs one read unit.
 */
export class Agenda {
  readonly #table: DocumentTable;
  readonly #collection: string;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #noted = new Set<string>();

  constructor(
    table: DocumentTable,
    namespace: string,
    { clock, random }: { readonly clock: Clock; readonly random: RandomSource },
  ) {
    this.#table = table;
    this.#collection = agendaOf(namespace);
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Notes that a log needs the sweep at an instant. Noting the same twice is noting it once, as long as
   * the entry is certainly still there.
   */
  async note(log: Log, instant: number): Promise<void> {
    // Whole steps: what falls into one of them is written once.
    const entry = { log, dueAt: roundUp(instant, STEP_MS), attempts: 0 };
    const sk = sortKeyOf(entry);
    // Another process removes entries that are due. By more than a step its clock is not ahead of ours.
    const isStillThere = entry.dueAt - this.#clock.now() > STEP_MS;
    if (isStillThere && this.#noted.has(sk)) return;
    await this.#put(entry);
    if (this.#noted.size >= NOTED_MAX) this.#noted.clear();
    this.#noted.add(sk);
  }

  /** One page of what is due, earliest first, at half price; `after` = the last entry of the page before. */
  async due(now: number, limit: number, after?: AgendaEntry): Promise<readonly AgendaEntry[]> {
    // No sort key of an entry lies between another one and itself with a blank behind it.
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

  /** Removes an entry, unless it was noted again since it was read: then there is more to do. */
  async strike(entry: AgendaEntry): Promise<void> {
    const sk = sortKeyOf(entry);
    this.#noted.delete(sk);
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
   * Moves an entry whose work failed, or may fail, to a later instant, with one more attempt counted. The
   * delay doubles up to a maximum. Entries of one log that fail again and again become due at the
   * same instants and so merge into one. Returns the new entry.
   */
  async postpone(entry: AgendaEntry): Promise<AgendaEntry> {
    const attempts = entry.attempts + 1;
    const delayMs = Math.min(RETRY_MS_FIRST * 2 ** (attempts - 1), RETRY_MS_MAX);
    const dueAt = roundUp(this.#clock.now() + delayMs, delayMs);
    // First the new entry: a crash in between leaves both, and the work is done twice at worst.
    const later = await this.#put({ log: entry.log, dueAt, attempts });
    await this.strike(entry);
    return later;
  }

  async #put(entry: AgendaEntry): Promise<AgendaEntry> {
    const stamp = Buffer.from(this.#random.bytes(STAMP_BYTES)).toString('base64url');
    const stamped = { ...entry, stamp };
    await this.#table.put({ pk: this.#collection, sk: sortKeyOf(entry), ...stamped });
    return stamped;
  }
}

const INSTANT_DIGITS = 15;
/** The sweep comes once a minute; finer than this serves nobody. */
const STEP_MS = 10_000;
const NOTED_MAX = 10_000;
const STAMP_BYTES = 6;
const MINUTE = 60_000;
/** Work that failed is tried again after this long, */
const RETRY_MS_FIRST = MINUTE;
/** and after this long at most, however often it failed. */
const RETRY_MS_MAX = 15 * MINUTE;

function roundUp(instant: number, stepMs: number): number {
  return Math.ceil(instant / stepMs) * stepMs;
}

function instantKey(instant: number): string {
  return String(instant).padStart(INSTANT_DIGITS, '0');
}

/** What an entry is about: a log or a session in it, whenever that is due. */
export function subjectOf({ log }: Pick<AgendaEntry, 'log'>): string {
  const { entityId, partition, generation } = log;
  return `${entityId}.${partition}.${generation}${sessionPrefix(log)}`;
}

/** What was postponed has a key of its own: it must not stand for what is noted for the same instant. */
function sortKeyOf(entry: Pick<AgendaEntry, 'log' | 'dueAt' | 'attempts'>): string {
  const postponed = entry.attempts > 0 ? '+' : '';
  return `${instantKey(entry.dueAt)}${postponed}/${subjectOf(entry)}`;
}
