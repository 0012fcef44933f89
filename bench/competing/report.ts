import { type Cells, rounded, short, table } from '../markdown.ts';
import type { CompetingRow } from './competing.ts';

/** Title of the section. */
export const COMPETING_TITLE = '## Competing processes';

const TITLES = [
  ...['engine', 'processes', 'messages', 'messages a second', '204 too early', '503'],
  ...['write units', 'read units', 'seen twice'],
];

/** The section on processes that compete for one queue, as Markdown. */
export function printCompeting(rows: readonly CompetingRow[]): string {
  return `${COMPETING_TITLE}

A deployment is many processes that share nothing but the tables. Here so many server processes, each with one
receiver over HTTP, empty one queue of single messages of 200 bytes: a receiver locks one message without waiting,
completes it, and asks again. Shares are of all receives before the last message was claimed. An answer of 204 says
that the queue is empty; it is too early where more messages were left than receives were under way. 503 asks the
client to try again. Units are for each message, received and completed, of all processes together. All processes run on this machine's cores, so the rate is
theirs and the engine's; shares and units are those of a deployment.

${table(TITLES, rows.map(line))}
`;
}

function line(row: CompetingRow): Cells {
  return [
    ...[row.engine, row.processes, row.messages, rounded(row.perSecond)],
    ...[percent(row.emptyShare), percent(row.busyShare)],
    ...[short(row.write), short(row.read), row.seenTwice],
  ];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
