import { rounded, table } from '../markdown.ts';
import { PRICES } from '../prices.ts';
import { STALE_MS_MAX } from './experiment.ts';
import { RECEIVE_WAIT_MS } from './instance.ts';
import { HANDLER_MS, LATENCIES } from './latencies.ts';
import { COLLECTION_UNITS, DEFAULT_QUOTAS, invocationRate, RAISED_QUOTAS } from './quotas.ts';
import { MEGABYTES } from './verdict.ts';

const NAMES: Readonly<Record<keyof typeof LATENCIES, string>> = {
  read: 'GetItem, BatchGetItem, Query',
  write: 'PutItem, UpdateItem, DeleteItem, BatchWriteItem',
  transaction: 'TransactWriteItems',
  gateway: 'from the client to a function and back',
  coldStart: 'cold start of a function',
};
/** Standard deviations from the median to the 99th percentile. */
const TO_P99 = 2.326;

/** The section on what the simulation assumes, as Markdown. */
export function printAssumptions(): string {
  return `## What is assumed

Check these before you rely on a number above.

**Limits.** No quota raises the limits of an item collection: ${rounded(COLLECTION_UNITS.write)} write units and ${rounded(COLLECTION_UNITS.read)} read units a second.
They also hold for the header of a partition, from which every send takes its sequence numbers.

${table(
  [
    'quotas',
    'API Gateway, requests/s',
    'at once',
    'Lambda, concurrency',
    'Lambda, invocations/s',
    'table, units/s of each kind',
  ],
  [DEFAULT_QUOTAS, RAISED_QUOTAS].map((quotas) => [
    quotas.name,
    ...[quotas.requests.rate, quotas.requests.burst, quotas.concurrency].map(rounded),
    ...[invocationRate(quotas), quotas.tableUnits].map(rounded),
  ]),
)}

The limit of API Gateway is the setting \`throttle\` of the stage. Those of Lambda and of the table are AWS's defaults,
which AWS raises on request.

**Latencies** of requests that succeed, ms: lognormal, and three in a thousand take six times as long.

${table(
  ['what', 'p50', 'p99'],
  Object.entries(LATENCIES).map(([name, { medianMs, deviation }]) => [
    NAMES[name as keyof typeof LATENCIES],
    medianMs,
    Math.round(medianMs * Math.exp(TO_P99 * deviation)),
  ]),
)}

A function computes ${HANDLER_MS.call} ms for a call and ${HANDLER_MS.message} ms for each message in it. A receive waits up to ${RECEIVE_WAIT_MS} ms for a first
message, the default of \`receiveWaitMsMax\`.

**Prices** as in [the benchmark](../bench/prices.ts): list prices on demand in us-east-1, as remembered on ${PRICES.rememberedOn}; since
then they were not compared with the price list. A million write units $${PRICES.perMillionWriteUnits}, read units $${PRICES.perMillionReadUnits}, requests to the HTTP API $${PRICES.perMillionHttpRequests.toFixed(2)}, invocations $${PRICES.perMillionInvocations.toFixed(2)}; a GB-second of
Lambda on arm64 $${PRICES.perGigabyteSecond}, with ${MEGABYTES} MB for each function. By default those that receive have half of that, so waiting costs less than these
numbers say. Cold starts are included; storage, logs, traces, point-in-time recovery and transfer are not.

**What the model has.** Each execution environment has its own memory, is frozen between calls, and serves one call at a
time. The environment that was busy last serves the next call; what Lambda does is not documented. The SDK repeats
throttled requests by its rules (three tries, up to 1 s and 2 s apart), and holds its function meanwhile. A collection
serves a request while it has any unit left. A transaction that is throttled at one of its items has spent the units
of the items before it, which is not documented either way. Eventually consistent reads are up to ${STALE_MS_MAX} ms old. The burst
capacity of item collections is used up a second before measuring begins, as after a long load.

**What the model does not have.**

- DynamoDB's splitting for heat and its bursts of up to 300 s. If DynamoDB splits a hot collection, its blocks spread
  over several partitions and the curve saturates later, but the partition header stays one item.
- Other collections in the same physical partition, which saturate the curve earlier.
- A table that is new and has to grow first.
- How fast Lambda adds environments (1,000 for each function in 10 s).
- Slow clients and networks, failing requests, the sweep, sessions, topics, duplicate detection, AMQP.
`;
}
