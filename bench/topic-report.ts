import type { OperationCost } from './counted-units.ts';
import type { FilterRate } from './filter-speed.ts';
import { type Cells, rounded, short, table } from './markdown.ts';
import { dollarsPerMillion } from './prices.ts';
import type { TopicRate } from './topic-throughput.ts';
import { DRAINED_MAX, type TopicCosts } from './topic-units.ts';

/** The results for one size of topic, kind of body and size of batch. */
export interface TopicRow {
  readonly subscriptions: number;
  readonly body: string;
  readonly batch: number;
  readonly costs: TopicCosts;
  readonly rate: TopicRate;
}

const CASE_TITLES = ['subscriptions', 'body', 'batch'];
const PUBLISH_TITLES = [
  ...[...CASE_TITLES, 'write units', 'read units', 'requests', 'round trips'],
  ...['write units a copy', 'read units a copy', '$ per million copies'],
];
const COPY_TITLES = [
  ...[...CASE_TITLES, 'operation', 'write units', 'read units', 'requests', 'round trips'],
  '$ per million copies',
];
const RATE_TITLES = [...CASE_TITLES, 'clients', 'messages', 'copies'];

/** The sections on topics, as Markdown. */
export function printTopics(rows: readonly TopicRow[]): string {
  return `## What publishing costs

One call that publishes a batch to a topic whose subscriptions have the default rule: what the whole call
takes, and of that for each copy. A copy is one message in one subscription. Counted as above; who the
subscriptions are was read before.

${table(PUBLISH_TITLES, rows.map(publishLine))}

Then the copies of that call are received and completed, one call each for a subscription: for each copy.
Copies of a message share its body where it does not fit beside the locks; completing pays for leaving those
who share it. With more than ${DRAINED_MAX} subscriptions it is the first ${DRAINED_MAX} that do so.

${table(COPY_TITLES, rows.flatMap(copyLines))}

## How fast publishing goes

Messages published and copies made in a second over HTTP, by the same server, engine and clients as above.

${table(RATE_TITLES, rows.map(rateLine))}
`;
}

/** The section on filters, as Markdown. */
export function printFilters(rates: readonly FilterRate[]): string {
  const lines = rates.map(({ filter, perSecond }) => [filter, rounded(perSecond)]);
  return `## How fast filters are

Evaluations a second in one process, on one core, of filters that are compiled already.

${table(['filter', 'a second'], lines)}
`;
}

/** The lines of one row, as they are printed while the benchmark runs. */
export function printTopicRow(row: TopicRow): string {
  const { clients, messagesPerSecond, copiesPerSecond } = row.rate;
  const lines = [publishLine(row), ...copyLines(row)].map((line) => line.slice(3).join('  '));
  return [
    `${row.subscriptions} subscriptions, ${row.body} × ${row.batch}`,
    ...lines.map((line) => `  ${line}`),
    `  ${clients} clients: ${rounded(messagesPerSecond)} msg/s published, ${rounded(copiesPerSecond)} copies/s`,
  ].join('\n');
}

function caseOf({ subscriptions, body, batch }: TopicRow): Cells {
  return [subscriptions.toLocaleString('en-US'), body, batch];
}

function publishLine(row: TopicRow): Cells {
  const { publish } = row.costs;
  const copies = row.subscriptions * row.batch;
  const each = { write: publish.write / copies, read: publish.read / copies };
  return [
    ...[...caseOf(row), short(publish.write), short(publish.read), publish.requests],
    ...[publish.roundTrips, short(each.write), short(each.read)],
    dollarsPerMillion(each).toFixed(3),
  ];
}

function copyLines(row: TopicRow): readonly Cells[] {
  const line = (operation: string, cost: OperationCost): Cells => [
    ...[...caseOf(row), operation, short(cost.write), short(cost.read), short(cost.requests)],
    ...[cost.roundTrips, dollarsPerMillion(cost).toFixed(3)],
  ];
  return [line('receive', row.costs.receive), line('settle', row.costs.settle)];
}

function rateLine(row: TopicRow): Cells {
  const { clients, messagesPerSecond, copiesPerSecond } = row.rate;
  return [...caseOf(row), clients, rounded(messagesPerSecond), rounded(copiesPerSecond)];
}
