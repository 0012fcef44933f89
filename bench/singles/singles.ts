import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineKinds, type ServerOptions, startServerProcess } from '../server-process.ts';
import { CLIENT_KINDS, queuesOf } from './dynabus-queues.ts';
import { type CallRates, measureCalls } from './measure.ts';
import type { DataStore, SinglesLoad, SinglesPlan } from './plan.ts';
import { countSingles, type SinglesUnits } from './units.ts';

/** Messages a second of clients that make single calls at once. */
export interface SinglesRate extends SinglesLoad, CallRates {
  readonly engine: string;
  readonly store: DataStore;
}

/** The results of single calls. */
export interface SinglesSection {
  readonly load: number;
  readonly units: readonly SinglesUnits[];
  readonly rates: readonly SinglesRate[];
}

const WARM_UP_CLIENTS = 8;

/** Counts and measures the rows of a plan on each engine. */
export async function measureSingles(
  plan: SinglesPlan,
  options: ServerOptions,
): Promise<SinglesSection> {
  const [load = 0] = loadavg();
  const all = engineKinds(options.engine);
  const kinds = plan.isOneEngine ? all.slice(0, 1) : all;
  const units: SinglesUnits[] = [];
  const rates: SinglesRate[] = [];
  for (const kind of kinds) {
    console.log(`Counting units of single calls, ${kind ?? 'the given engine'}`);
    const counted = await countSingles(kind, plan);
    units.push(...counted);
    const name = counted[0]?.engine.split(',')[0] ?? '';
    // An engine that runs already keeps its data where it keeps it.
    const stores = kind === undefined ? (['memory'] as const) : plan.stores;
    for (const store of stores) {
      console.log(`Measuring single calls, ${name}, data in ${store}`);
      for (const rate of await measureStore({ ...options, engine: kind }, store, plan)) {
        rates.push({ engine: name, ...rate });
      }
    }
  }
  return { load, units, rates };
}

async function measureStore(
  options: ServerOptions,
  store: DataStore,
  plan: SinglesPlan,
): Promise<readonly Omit<SinglesRate, 'engine'>[]> {
  return await withServer(options, store, async (server) => {
    for (const kind of CLIENT_KINDS) {
      const warmUp = { clients: WARM_UP_CLIENTS, batch: 1, ms: plan.warmUpMs / 2 };
      await measureCalls(queuesOf(server, kind), warmUp, false);
    }
    const rows: Omit<SinglesRate, 'engine'>[] = [];
    for (const { kind, clients } of plan.rows) {
      const load = { clients, batch: 1, ms: plan.measuredMs };
      const rates = await measureCalls(queuesOf(server, kind), load, false);
      rows.push({ store, kind, clients, ...rates });
      console.log(
        `  ${kind}, ${clients}: ${Math.round(rates.sent)} sent, ${Math.round(rates.completed)} completed`,
      );
    }
    return rows;
  });
}

/** Runs a server whose engine keeps its data in memory or in a temporary folder. */
export async function withServer<Result>(
  options: ServerOptions,
  store: DataStore,
  work: (server: Awaited<ReturnType<typeof startServerProcess>>) => Promise<Result>,
): Promise<Result> {
  const folder = store === 'folder' ? await mkdtemp(join(tmpdir(), 'dynabus-bench-')) : undefined;
  try {
    const place = folder === undefined ? {} : { dataDirectory: folder };
    const server = await startServerProcess({ ...options, ...place });
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}
