import type { Log } from '../domain/log.ts';
import type { DocumentTable } from './documents.ts';
import { agendaOf } from './entity-keys.ts';
import { sessionPrefix } from './keys.ts';

/** Something the sweep will have to do for a log. */
export interface AgendaEntry {
  readonly log: Log;
  /** Epoch ms. */
  readonly dueAt: number;
}

/**
 * What the sweep has to do when, in order of time. An idle namespace has nothing here, and looking
 * costs one read unit.
 */
export class Agenda {
  readonly #table: DocumentTable;
  readonly #collection: string;
  readonly #noted = new Set<string>();

  constructor(table: DocumentTable, namespace: string) {
    this.#table = table;
    this.#collection = agendaOf(namespace);
  }

  /** Notes that a log needs the sweep at an instant. Noting the same twice is noting it once. */
  async note(log: Log, instant: number): Promise<void> {
    // Whole steps: what falls into one of them is written once.
    const entry = { log, dueAt: Math.ceil(instant / STEP_MS) * STEP_MS };
    const sk = sortKeyOf(entry);
    if (this.#noted.has(sk)) return;
    await this.#table.put({ pk: this.#collection, sk, ...entry });
    if (this.#noted.size >= NOTED_MAX) this.#noted.clear();
    this.#noted.add(sk);
  }

  /** What is due, earliest first. */
  async due(now: number, limit: number): Promise<readonly AgendaEntry[]> {
    const until = { from: instantKey(0), to: `${instantKey(now)}~` };
    const documents = await this.#table.range(this.#collection, until, limit);
    return documents.map(({ log, dueAt }) => ({ log: log as Log, dueAt: Number(dueAt) }));
  }

  /** Strikes an entry off. */
  async strike(entry: AgendaEntry): Promise<void> {
    this.#noted.delete(sortKeyOf(entry));
    await this.#table.delete({ pk: this.#collection, sk: sortKeyOf(entry) });
  }
}

const INSTANT_DIGITS = 15;
/** The sweep comes once a minute; finer than this serves nobody. */
const STEP_MS = 10_000;
const NOTED_MAX = 10_000;

function instantKey(instant: number): string {
  return String(instant).padStart(INSTANT_DIGITS, '0');
}

function sortKeyOf({ log, dueAt }: AgendaEntry): string {
  const { entityId, partition, generation } = log;
  return `${instantKey(dueAt)}/${entityId}.${partition}.${generation}${sessionPrefix(log)}`;
}
