import { type Cells, rounded, table } from '../markdown.ts';
import { MESSAGES_MAX, PEER_LOADS, PEERS, type PeerRow, type PeersSection } from './peers.ts';

/** Title of the section. */
export const PEERS_TITLE = '## Beside other brokers';

const TITLES = [
  'broker',
  ...PEER_LOADS.flatMap(({ batch, clients }) => [
    `send ×${batch}, ${clients} clients`,
    `receive and complete ×${batch}, ${clients} clients`,
  ]),
];

/** The section that compares dynabus with brokers of other projects, as Markdown. */
export function printPeers({ load, rows }: PeersSection): string {
  const versions = rows.map((row) => row.versions).filter((text) => text !== '');
  return `${PEERS_TITLE}

Messages a second, measured one broker after the other in one run on the cores of this machine, which server and clients
share; load before the start ${load.toFixed(1)}. All clients are in one process, and a message has a body of 200 bytes.
×100 = a call with a hundred messages, or a hundred messages at a time. Messages are sent for two seconds, but at most
${MESSAGES_MAX.toLocaleString('en-US')} of them, and then received. A message is sent when the broker has confirmed it. Every message was received and
completed exactly once; each rate is all of them by the time that they took.

${PEERS.map(({ name, how }) => `- ${name}: ${how}.`).join('\n')}
- dynabus over HTTP: a connection for each client; a message is received without waiting for one, and completed with a second
  call.
- dynabus over AMQP: the official client on one connection with as many sends under way as there are clients, and \`subscribe\`
  with as many calls at a time; with ×100 each client has a receiver with 100 calls at a time. Each message is completed
  by itself.

${table(TITLES, rows.map(line))}
${versions.length === 0 ? '' : `\nVersions: ${versions.join('; ')}.\n`}${rows.map(missingOf).join('')}`;
}

/** A sentence about a broker that was not measured; otherwise nothing. */
function missingOf({ name, rates }: PeerRow): string {
  return 'missing' in rates ? `\n${name} was not measured: ${rates.missing}.\n` : '';
}

function line({ name, rates }: PeerRow): Cells {
  if ('missing' in rates) return [name, ...TITLES.slice(1).map(() => 'not installed')];
  return [name, ...rates.flatMap(({ sent, completed }) => [rounded(sent), rounded(completed)])];
}
