import { type Cells, rounded, short, table } from '../markdown.ts';
import { dollarsPerMillion } from '../prices.ts';
import type { AmqpIdle } from './idle.ts';
import { type AmqpLatency, APART } from './latency.ts';
import type { AmqpSection } from './section.ts';

export const AMQP_TITLE = '## What AMQP costs, and how fast it is';

const UNIT_TITLES = [
  ...['body', 'what', 'write units', 'read units', 'requests', '$ per million'],
  ...['the same over HTTP', 'times HTTP'],
];
const RATE_TITLES = ['body', 'what', 'at a time', 'AMQP', 'HTTP', 'times HTTP'];
const LATENCY_TITLES = ['from sender to handler', 'messages a second', 'p50', 'p99', 'worst'];
const MEMORY_TITLES = ['1,000 connections', 'resident', 'heap'];
const IDLE_TITLES = [
  'waiting receivers',
  'queues',
  'requests a minute',
  'read units a minute',
  'CPU',
];

/** The section on AMQP, as Markdown. */
export function printAmqp({ load, units, idle, rates, latencies, memory }: AmqpSection): string {
  return `${AMQP_TITLE}

By the official JavaScript client, in a process of its own; load before the start ${load.toFixed(1)}. Units for each
message, counted as above, beside those of a batch of 100 over HTTP, or of single calls where messages go one
after the other.

${table(
  UNIT_TITLES,
  units.map(({ body, what, amqp, http }): Cells => {
    const [dollars, overHttp] = [dollarsPerMillion(amqp), dollarsPerMillion(http)];
    return [
      ...[body, what, short(amqp.write), short(amqp.read), short(amqp.requests)],
      ...[dollars.toFixed(3), overHttp.toFixed(3), (dollars / overHttp).toFixed(2)],
    ];
  }),
)}

${printIdle(idle)}

Messages a second: over AMQP on one connection, and over HTTP right after, where calls go on as many connections. The
client's own work is in these numbers; it is most of them where messages go one by one.

${table(
  RATE_TITLES,
  rates.map(
    ({ body, what, clients, amqp, http }): Cells => [
      ...[body, what, clients, rounded(amqp), rounded(http), (amqp / http).toFixed(2)],
    ],
  ),
)}

Milliseconds from the instant at which a message of 200 B was to be sent, at a steady rate, to its handler. What was held
up by something else counts with all of its delay.

${table(
  LATENCY_TITLES,
  latencies.map(
    ({ what, rate, p50, p99, worst }): Cells => [
      ...[what, rate.toLocaleString('en-US'), p50.toFixed(1), p99.toFixed(1), worst.toFixed(1)],
    ],
  ),
)}

${printRatios(latencies)}

What a server holds more with idle connections, after a collection of garbage, MB:

${table(
  MEMORY_TITLES,
  memory.map(({ what, rss, heap }): Cells => [what, megabytes(rss), megabytes(heap)]),
)}
`;
}

/** The latencies between two servers by the stream, as shares of those of the same run without it. */
function printRatios(latencies: readonly AmqpLatency[]): string {
  const shares = latencies.flatMap(({ what, rate, p50, worst }) => {
    const plain = latencies.find((row) => row.what === APART.plain && row.rate === rate);
    if (what !== APART.streamed || plain === undefined) return [];
    const [median, last] = [p50 / plain.p50, worst / plain.worst].map((share) => share.toFixed(2));
    return `at ${rate.toLocaleString('en-US')} messages a second the median is ${median} times, and the worst ${last} times as long`;
  });
  return `With the stream of the table, ${shares.join('; ')}.`;
}

/** What receivers on empty queues cost, as Markdown. */
export function printIdle(idle: readonly AmqpIdle[]): string {
  return `Receivers that wait ask the database, less and less often. These have waited for more than a minute. CPU is the
share of one processor that the server uses.

${table(
  IDLE_TITLES,
  idle.map(
    ({ receivers, queues, requests, read, cpu }): Cells => [
      ...[rounded(receivers), queues, rounded(requests), rounded(read), `${cpu.toFixed(1)} %`],
    ],
  ),
)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
