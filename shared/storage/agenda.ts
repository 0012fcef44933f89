import type { Log } from '../domain/log.ts';
import type { DocumentTable } from './documents.ts';
import { agendaOf } from './entity-keys.ts';

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

  constructor(table: DocumentTable, namespace: string) {
    this.#table = table;
    this.#collection = agendaOf(namespace);
  }

  /** Notes that a log needs the sweep at an instant. Noting the same twice is noting it once. */
  async note(log: Log, dueAt: number): Promise<void> {
    const key = { pk: this.#collection, sk: sortKeyOf({ log, dueAt }) };
    await this.#table.put({ ...key, log, dueAt });
  }

  /** What is due, earliest first. */
  async due(now: number, limit: number): Promise<readonly AgendaEntry[]> {
    const until = { from: instantKey(0), to: `${instantKey(now)}~` };
    const documents = await this.#table.range(this.#collection, until, limit);
    return documents.map(({ log, dueAt }) => ({ log: log as Log, dueAt: Number(dueAt) }));
  }

  /** Strikes an entry off. */
  async strike(entry: AgendaEntry): Promise<void> {
    await this.#table.delete({ pk: this.#collection, sk: sortKeyOf(entry) });
  }
}

const INSTANT_DIGITS = 15;

function instantKey(instant: number): string {
  return String(instant).padStart(INSTANT_DIGITS, '0');
}

function sortKeyOf({ log, dueAt }: AgendaEntry): string {
  return `${instantKey(dueAt)}/${log.entityId}.${log.partition}.${log.generation}`;
}
