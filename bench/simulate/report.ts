import { type Cells, rounded, short, table } from '../markdown.ts';
import { printAssumptions } from './assumptions.ts';
import { RECEIVE_WAIT_MS } from './instance.ts';
import type { MeasuredCurve, ScaleTables } from './run.ts';
import type { Row, Use } from './verdict.ts';

const TITLES = [
  ...['offered, msg/s', 'receivers', 'delivered, msg/s', 'p50, ms', 'p95, ms', 'p99, ms'],
  ...['write units', 'read units', 'refused', 'lost races', 'functions at once'],
  ...['$ tables', '$ functions', '$ a month', 'limit'],
];
const SECONDS_A_MONTH = 30 * 24 * 60 * 60;
const MILLION = 1_000_000;

/** The whole of `docs/scale.md`. */
export function printScaleTables({ seed, rates, receivers }: ScaleTables): string {
  return `# Scale on paper

Written by \`npm run bench -- --simulate\`; do not edit. Seed: \`${seed}\`; the same seed gives the same tables.

Nothing here was measured in the cloud. The code of send, receive and settle runs unchanged in virtual time over
simulated tables. So the requests to DynamoDB, their cost and the conflicts between processes are real. How long a
request takes is assumed, and so are [limits and prices](#what-is-assumed).

- [Where each curve saturates](#where-each-curve-saturates) · [By rate](#by-rate) ·
  [By number of receivers](#by-number-of-receivers) · [What is assumed](#what-is-assumed)

## Where each curve saturates

A curve saturates where the system delivers less than is offered, by more than 5 %. Shortly before, refusals and
latencies grow.

${[...rates, ...receivers].map(saturationLine).join('\n')}

What the limits are:

- *blocks, write units* (or *read units*): units of the item collection that holds the messages of one partition.
  Sends, claims, completions and lost races share them, so senders that offer too much leave little to receivers.
- *payloads*: units of a second item collection, into which a send puts what is too large for a block.
- *partition header*: units of the item from which the sends of a partition take their sequence numbers.
- *table*: units of messages and entities together, whatever their collections could do.
- *API Gateway, requests*: a message that is sent, received and completed singly takes three requests, and each
  empty receive takes one more.
- *Lambda, concurrency*: a receive that waits counts, and so does a request that the SDK repeats because DynamoDB
  throttled it.
- *receivers*: all of them are busy all the time, and there are too few.
- *lost races*: receivers claim the same messages, and most of their writes are too late.

## By rate

Messages have 200 bytes and no keys. Senders offer a rate and do not slow down; they repeat a refused call up to five
times. A receiver locks up to as many messages as a batch has, completes them in one call, and asks again. There are
enough receivers to keep up. A batch holds 100 messages, or those of one second if fewer are sent.

- **delivered**: received and completed. **p50**, **p95**, **p99**: from the call of the send to the answer of the
  receive. Once it is saturated, the backlog grows, and with it the latencies, for as long as the load lasts.
- **write units**, **read units**, **refused**, **lost races**: for each message delivered. Refusals are those of
  DynamoDB, API Gateway and Lambda. A write loses a race if its condition no longer holds.
- **functions at once**: executions in progress on average, including those in which a receive waits.
- **$ tables**, **$ functions**: for a million messages; functions include API Gateway. **$ a month**: both, at the
  rate delivered, for 30 days.
- **limit**: in bold, the bottleneck, that is, the limit that saturates the curve. In rows before it, the limit that is
  used most, and how much of it is used.
- *Extrapolated* rows were not simulated. They extend the largest load that kept up to the point where the first limit is
  used up. So they are the best case: under overload less is delivered, as simulated rows show.

${rates.map(section).join('\n')}
## By number of receivers

The same load on a new queue with default quotas, for more and more receivers. If there is no message, each waits up to
${RECEIVE_WAIT_MS / 1000} s in a function, and asks again.

${receivers.map(section).join('\n')}
${printAssumptions()}`;
}

function section({ title, rows }: MeasuredCurve): string {
  return `### ${title}\n\n${table(TITLES, rows.map(line))}\n`;
}

function line(row: Row): Cells {
  const { configuration, delivered, latencies, perMessage, concurrency, dollars } = row;
  const [p50, p95, p99] = latencies.length > 0 ? latencies.map(rounded) : ['–', '–', '–'];
  const month = ((dollars.tables + dollars.functions) * delivered * SECONDS_A_MONTH) / MILLION;
  return [
    rounded(configuration.rate) + (row.isExtrapolated ? ' *extrapolated*' : ''),
    row.isExtrapolated ? '–' : configuration.receivers.toLocaleString('en-US'),
    rounded(delivered),
    ...[p50 ?? '–', p95 ?? '–', p99 ?? '–'],
    ...[short(perMessage.write), short(perMessage.read)],
    ...[short(perMessage.refusals), short(perMessage.lostRaces)],
    rounded(concurrency),
    ...[dollars.tables.toFixed(2), dollars.functions.toFixed(2), rounded(month)],
    row.isSaturated ? `**${row.limit.limit}**` : describeUse(row.limit),
  ];
}

function describeUse({ limit, fraction }: Use): string {
  return `${limit}: ${Math.round(100 * fraction)} %`;
}

/** Where one curve saturates, as a line of a list. */
function saturationLine({ title, rows }: MeasuredCurve): string {
  const isByRate = new Set(rows.map(({ configuration }) => configuration.rate)).size > 1;
  const nameOf = ({ configuration: { rate, receivers }, isExtrapolated }: Row) =>
    isByRate
      ? `${rounded(rate)} msg/s${isExtrapolated ? ' (extrapolated)' : ''}`
      : `${rounded(receivers)} ${receivers === 1 ? 'receiver' : 'receivers'}`;
  const kept = rows.filter(({ isSaturated }) => !isSaturated);
  const shown = isByRate ? kept.slice(-1) : kept;
  const keeps = shown.length === 0 ? 'nothing' : shown.map(nameOf).join(', ');
  // All extrapolated rows of a curve have the same bottleneck.
  const firstExtrapolated = rows.findIndex(
    ({ isSaturated, isExtrapolated }) => isSaturated && isExtrapolated,
  );
  const saturated = rows
    .filter(
      ({ isSaturated, isExtrapolated }, i) =>
        isSaturated && (!isExtrapolated || i === firstExtrapolated),
    )
    .map((row) => `${nameOf(row)} → ${rounded(row.delivered)} delivered (${row.limit.limit})`);
  return `- **${title}**: keeps up with ${keeps}; ${saturated.length === 0 ? 'does not saturate here' : saturated.join('; ')}.`;
}
