import type { ClientKind } from './dynabus-queues.ts';

/** What is measured with single calls, and for how long. */
export interface SinglesPlan {
  readonly rows: readonly SinglesLoad[];
  /** Whether the data is in memory or in a folder. */
  readonly stores: readonly DataStore[];
  /** Whether only the first engine is measured. */
  readonly isOneEngine: boolean;
  /** For each kind of client, once a server. */
  readonly warmUpMs: number;
  /** For each rate. */
  readonly measuredMs: number;
}

/** Clients that make single calls at once. */
export interface SinglesLoad {
  readonly kind: ClientKind;
  readonly clients: number;
}

/** Where an engine keeps its data. */
export type DataStore = 'memory' | 'folder';

const rowsOf = (kind: ClientKind, counts: readonly number[]): readonly SinglesLoad[] =>
  counts.map((clients) => ({ kind, clients }));

/** The plans of a full and of a quick run. A receiver over AMQP can have a hundred calls at a time. */
export const SINGLES_PLANS = {
  full: {
    rows: [
      ...rowsOf('HTTP', [1, 8, 32, 128]),
      ...rowsOf('AMQP', [1, 8, 32, 100]),
      ...rowsOf('AMQP, frames only', [100]),
    ],
    stores: ['memory', 'folder'],
    isOneEngine: false,
    warmUpMs: 2000,
    measuredMs: 2000,
  },
  quick: {
    rows: [
      ...rowsOf('HTTP', [1, 8, 32]),
      ...rowsOf('AMQP', [1, 8, 32]),
      ...rowsOf('AMQP, frames only', [32]),
    ],
    stores: ['memory'],
    isOneEngine: true,
    warmUpMs: 1000,
    measuredMs: 500,
  },
} as const satisfies Readonly<Record<string, SinglesPlan>>;
