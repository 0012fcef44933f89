import { type Cells, rounded, short, table } from '../markdown.ts';
import type { SinglesSection } from './singles.ts';

/** Title of the section. */
export const SINGLES_TITLE = '## Single calls';

const RATE_TITLES = [
  ...['engine', 'data', 'clients', 'how many'],
  ...['sent a second', 'received and completed a second'],
];
const UNIT_TITLES = [
  ...['engine', 'clients', 'how many', 'write units to send', 'read units', 'requests'],
  ...['write units to receive and complete', 'read units', 'requests'],
];

/** The section on clients that send, receive and complete one message a call, as Markdown. */
export function printSingles({ load, units, rates }: SinglesSection): string {
  return `${SINGLES_TITLE}

Many clients at once, each with one message of 200 bytes a call; load before the start ${load.toFixed(1)}. Over HTTP each
client has a connection, sends, and later receives a message without waiting for one and completes it with a second
call. Over AMQP the official client has one connection with that many sends under way, and \`subscribe\` with as many calls
at a time, each of which completes its message. The last kind of client writes and reads frames only, on one connection
with as much credit, and shows the server more than the client. All messages are sent first. Server, engine and
clients share the cores of this machine; data is in memory or in a folder of a temporary directory.

${table(
  RATE_TITLES,
  rates.map(
    ({ engine, store, kind, clients, sent, completed }): Cells => [
      ...[engine, store, kind, clients, rounded(sent), rounded(completed)],
    ],
  ),
)}

Units and requests to DynamoDB for each message, counted as above while that many clients make their calls, on an engine
in memory, in one process with the clients. How many calls share a write depends on how many arrive while one is under
way, so a slower database would have more of them together. Every message was completed exactly once.

${table(
  UNIT_TITLES,
  units.map(
    ({ engine, kind, clients, send, receive }): Cells => [
      ...[engine, kind, clients],
      ...[send, receive].flatMap(({ write, read, requests }) => [write, read, requests].map(short)),
    ],
  ),
)}
`;
}
