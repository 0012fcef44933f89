import { replaceSection } from '../results-file.ts';
import type { ServerOptions } from '../server-process.ts';
import { measurePeers, type PeersPlan } from './peers.ts';
import { PEERS_TITLE, printPeers } from './report.ts';

const PLANS = {
  full: {
    warmUpMs: 2000,
    measuredMs: 2000,
    stores: ['memory', 'folder'],
    isOneEngine: false,
  },
  quick: { warmUpMs: 500, measuredMs: 500, stores: ['memory'], isOneEngine: true },
} as const satisfies Readonly<Record<string, PeersPlan>>;

/**
 * Measures other brokers beside dynabus and prints the result. Writes it to the results unless the run is quick.
 * `packages` is the folder with the node packages of the others.
 */
export async function benchPeers(
  quick: boolean,
  packages: string | undefined,
  options: ServerOptions,
): Promise<void> {
  const plan = PLANS[quick ? 'quick' : 'full'];
  const section = printPeers(await measurePeers(plan, packages, options));
  console.log(section);
  if (!quick) replaceSection(PEERS_TITLE, section);
}
