import { loadavg } from 'node:os';
import { engineKinds, type ServerOptions } from '../server-process.ts';
import { queuesOf } from '../singles/dynabus-queues.ts';
import { type CallRates, measureCalls } from '../singles/measure.ts';
import type { DataStore } from '../singles/plan.ts';
import type { OpenQueue } from '../singles/queue-clients.ts';
import { withServer } from '../singles/singles.ts';
import { BULLMQ } from './bullmq.ts';
import { NotInstalledError } from './installed.ts';
import type { Peer } from './peer.ts';
import { PG_BOSS } from './pg-boss.ts';
import { RABBITMQ } from './rabbitmq.ts';

/** The brokers of other projects, in the order of the table. */
export const PEERS: readonly Peer[] = [RABBITMQ, PG_BOSS, BULLMQ];

/** What each broker is measured with, in the order of the columns. */
export const PEER_LOADS = [
  { batch: 100, clients: 4 },
  { batch: 1, clients: 8 },
  { batch: 1, clients: 32 },
] as const;

/** One broker, measured. */
export interface PeerRow {
  readonly name: string;
  /** One for each load, or a clause that says what is missing. */
  readonly rates: readonly CallRates[] | { readonly missing: string };
  readonly versions: string;
}

/** All brokers of one run. */
export interface PeersSection {
  /** The load average of the machine before the start. */
  readonly load: number;
  readonly rows: readonly PeerRow[];
}

/** How long is measured, and what of dynabus. */
export interface PeersPlan {
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly stores: readonly DataStore[];
  readonly isOneEngine: boolean;
}

/** Some brokers become slow with many waiting messages, and a fast sender would have more of them wait. */
export const MESSAGES_MAX = 20_000;
const WARM_UP = { batch: 1, clients: 8 } as const;
const CLIENT_KINDS = ['HTTP', 'AMQP'] as const;

/** Measures one broker after the other. `packages` is the folder with the node packages of the others. */
export async function measurePeers(
  plan: PeersPlan,
  packages: string | undefined,
  options: ServerOptions,
): Promise<PeersSection> {
  const [load = 0] = loadavg();
  const rows: PeerRow[] = [];
  for (const peer of PEERS) rows.push(await measurePeer(peer, packages, plan));
  const kinds = engineKinds(options.engine);
  for (const kind of plan.isOneEngine ? kinds.slice(0, 1) : kinds) {
    // An engine that runs already keeps its data where it keeps it.
    for (const store of kind === undefined ? (['memory'] as const) : plan.stores) {
      rows.push(...(await measureDynabus({ ...options, engine: kind }, store, plan)));
    }
  }
  return { load, rows };
}

async function measurePeer(
  peer: Peer,
  packages: string | undefined,
  plan: PeersPlan,
): Promise<PeerRow> {
  const { name } = peer;
  try {
    const running = await peer.start(packages);
    try {
      const rates = await measureLoads(name, running.open, plan);
      return { name, rates, versions: running.versions };
    } finally {
      await running.stop();
    }
  } catch (error) {
    if (!(error instanceof NotInstalledError)) throw error;
    console.log(`${name} is not measured: ${error.message}.`);
    return { name, rates: { missing: error.message }, versions: '' };
  }
}

async function measureDynabus(
  options: ServerOptions,
  store: DataStore,
  plan: PeersPlan,
): Promise<readonly PeerRow[]> {
  return await withServer(options, store, async (server) => {
    const rows: PeerRow[] = [];
    for (const kind of CLIENT_KINDS) {
      const engine = options.engine ?? 'the given engine';
      const name = `dynabus over ${kind}, ${engine}, data in ${store === 'memory' ? 'memory' : 'a folder'}`;
      const rates = await measureLoads(name, queuesOf(server, kind), plan);
      rows.push({ name, rates, versions: '' });
    }
    return rows;
  });
}

async function measureLoads(
  name: string,
  open: OpenQueue,
  { warmUpMs, measuredMs }: PeersPlan,
): Promise<readonly CallRates[]> {
  console.log(`Measuring ${name}`);
  await measureCalls(open, { ...WARM_UP, ms: warmUpMs }, true);
  const rates: CallRates[] = [];
  for (const load of PEER_LOADS) {
    const rate = await measureCalls(
      open,
      { ...load, ms: measuredMs, messagesMax: MESSAGES_MAX },
      true,
    );
    rates.push(rate);
    console.log(
      `  × ${load.batch}, ${load.clients} clients: ${Math.round(rate.sent)} sent, ${Math.round(rate.completed)} completed`,
    );
  }
  return rates;
}
