import { availableParallelism, cpus, totalmem } from 'node:os';
import { printAmqp } from './amqp/report.ts';
import type { AmqpSection } from './amqp/section.ts';
import type { CompetingRow } from './competing/competing.ts';
import { printCompeting } from './competing/report.ts';
import { type Costs, OPERATIONS, type OperationCost } from './counted-units.ts';
import { type FeatureRow, printFeatures } from './feature-units.ts';
import type { FilterRate } from './filter-speed.ts';
import { type Cells, rounded, short, table } from './markdown.ts';
import type { PartitionRow } from './partitions/measure.ts';
import { printPartitions } from './partitions/report.ts';
import {
  dollarsPerMillion,
  durationDollarsPerMillion,
  PRICES,
  requestDollarsPerMillion,
} from './prices.ts';
import { printSingles } from './singles/report.ts';
import type { SinglesSection } from './singles/singles.ts';
import type { Rates } from './throughput.ts';
import { printFilters, printTopics, type TopicRow } from './topic-report.ts';

/** The results for one kind of body and one size of batch. */
export interface Row {
  readonly body: string;
  readonly batch: number;
  readonly costs: Costs;
  readonly rates: Rates;
}

export interface Report {
  readonly engine: string;
  /** The load average of the machine before the start: processes that want a core. */
  readonly load: number;
  /** The options after `npm run bench --`, to repeat the run. */
  readonly options: readonly string[];
  readonly rows: readonly Row[];
  readonly topics: readonly TopicRow[];
  readonly scale: readonly PartitionRow[];
  readonly features: readonly FeatureRow[];
  readonly filters: readonly FilterRate[];
  readonly amqp: AmqpSection;
  readonly competing: readonly CompetingRow[];
  readonly singles: SinglesSection;
}

const COST_TITLES = [
  ...['body', 'batch', 'operation', 'write units', 'read units', 'requests', 'round trips'],
  ...['$ per million', 'HTTP requests', '$ API Gateway'],
];
const RATE_TITLES = [
  ...['body', 'batch', 'clients', 'sent', 'received, then settled', 'both in one call'],
];
/** An example of a function's memory and duration, for an estimate of its cost. */
const EXAMPLE = { ms: 10, megabytes: 512 };

/** The whole report as Markdown. */
export function printReport(report: Report): string {
  const {
    engine,
    load,
    options,
    rows,
    topics,
    scale,
    features,
    filters,
    amqp,
    competing,
    singles,
  } = report;
  return `# Results of the benchmark

Written by \`${['npm run bench', ...(options.length > 0 ? ['--', ...options] : [])].join(' ')}\`; do not edit.

- Machine: ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GB; load before the start ${load.toFixed(1)}
- Node ${process.versions.node}
- Engine: ${engine}

## What a message costs

For each message: capacity units of DynamoDB as the engine reports them (\`ReturnConsumedCapacity\`), corrected to
the service's price where an engine reports less for a transaction, a failed condition, or a read that finds
nothing; requests to DynamoDB; and requests over HTTP. What is done behind an answer is counted too, except
among the round trips, which are the requests that wait for one another before a call is answered (the worst
call). A batch that is larger than the service takes at once (1 MB sent, 3 MB received) goes in several calls.

Dollars are for a million messages, on demand in us-east-1, by prices as remembered on ${PRICES.rememberedOn} and not compared with
the price list since: $${PRICES.perMillionWriteUnits} for a million write units and $${PRICES.perMillionReadUnits} for a million read units. Apart from
them, "$ API Gateway" is API Gateway (HTTP API, $${PRICES.perMillionHttpRequests.toFixed(2)} for a million requests) with Lambda's
invocations ($${PRICES.perMillionInvocations.toFixed(2)}). The time of the functions comes on top: ${EXAMPLE.ms} ms with ${EXAMPLE.megabytes} MB are $${durationDollarsPerMillion(EXAMPLE.ms, EXAMPLE.megabytes).toFixed(3)} for a million calls.

${table(COST_TITLES, rows.flatMap(costLines))}

## How fast it goes

Messages a second over HTTP on this machine: server, engine and clients in processes of their own, all of
them on these cores. Single messages by calls in the style of the REST API.

${table(RATE_TITLES, rows.map(rateLine))}

${printTopics(topics)}
${printPartitions(scale)}
${printFeatures(features)}
${printAmqp(amqp)}
${printCompeting(competing)}
${printSingles(singles)}
${printFilters(filters)}`;
}

/** The lines of one row, as they are printed while the benchmark runs. */
export function printRow(row: Row): string {
  const { sent, receivedAndSettled, inOneCall, clients } = row.rates;
  const lines = costLines(row).map((line) => line.slice(2).join('  '));
  return [
    `${row.body} × ${row.batch}`,
    ...lines.map((line) => `  ${line}`),
    `  ${clients} clients: ${rounded(sent)} msg/s sent, ${rounded(receivedAndSettled)} received, then settled, ${rounded(inOneCall)} in one call`,
  ].join('\n');
}

function costLines({ body, batch, costs }: Row): readonly Cells[] {
  const lines = OPERATIONS.map((operation) => costLine(body, batch, operation, costs[operation]));
  return [...lines, costLine('', '', '**sum**', sum(OPERATIONS.map((each) => costs[each])))];
}

function costLine(
  body: string,
  batch: number | string,
  operation: string,
  cost: OperationCost,
): Cells {
  return [
    ...[body, batch, operation, short(cost.write), short(cost.read), short(cost.requests)],
    ...[cost.roundTrips, dollarsPerMillion(cost).toFixed(3), short(cost.httpRequests)],
    requestDollarsPerMillion(cost.httpRequests).toFixed(3),
  ];
}

function sum(costs: readonly OperationCost[]): OperationCost {
  const total = (unit: keyof OperationCost) => costs.reduce((all, cost) => all + cost[unit], 0);
  return {
    write: total('write'),
    read: total('read'),
    requests: total('requests'),
    httpRequests: total('httpRequests'),
    roundTrips: total('roundTrips'),
  };
}

function rateLine({ body, batch, rates }: Row): Cells {
  const { clients, sent, receivedAndSettled, inOneCall } = rates;
  return [body, batch, clients, ...[sent, receivedAndSettled, inOneCall].map(rounded)];
}
