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

Nothing here was measured in the cloud. The code of send, receive and settle runs, unchanged, in virtual time
over simulated tables: what it asks of DynamoDB, what it costs and who gets in whose way are its own. How long
things take is assumed, and so are the limits and prices; [they stand below](#what-is-assumed).

## Where each curve bends

A curve bends where less is delivered than is offered (by more than 5 %). Shortly before, refusals
and latencies grow.

${[...rates, ...receivers].map(bendLine).join('\n')}

What the limits are:

- *blocks, write units* (or *read units*): of the item collection that holds the messages of one partition. Sends,
  claims, completions and lost races share them, so senders that offer too much leave little to receivers.
- *payloads*: of the item collection beside it, into which a send puts what is too large for a block.
- *head item*: of the item from which the sends of a partition take their sequence numbers.
- *table*: of the messages and entities together, whatever their collections could do.
- *API Gateway, requests*: a message sent, received and completed on its own takes three, and each receive that finds
  nothing one more.
- *Lambda, concurrency*: a receive that waits counts, and so does a request that DynamoDB throttled and the SDK tries again.
- *receivers*: they are busy all the time, and there are too few.
- *lost races*: receivers claim the same messages, and most writes come too late.

## By rate

Messages of 200 bytes without keys. Senders offer a rate and do not slow down; a call that is refused is tried again
up to five times. Receivers lock up to so many messages as a batch has, complete them in one call, and ask again; there
are enough of them to keep up. Batches hold 100 messages, or those of a second where fewer are sent.

- **delivered**: received and completed. **p50**, **p95**, **p99**: from the call of the send to the answer of the
  receive. Where the curve has bent, the backlog grows, and latencies with it as long as the load lasts.
- **write units**, **read units**, **refused**, **lost races**: for each message delivered. Refused are requests of all
  kinds, by DynamoDB, API Gateway and Lambda. A race is lost by a write whose condition no longer holds.
- **functions at once**: executions under way on average, those included in which a receive waits.
- **$ tables**, **$ functions**: for a million messages; functions with API Gateway. **$ a month**: both, at the rate
  delivered, for 30 days.
- **limit**: where the curve has bent, in bold, what bends it; elsewhere the limit that is used most, and how much of it.
- *Computed* rows were not simulated: they are drawn out from the largest load that kept up, to where the first limit is
  used up. They are the best that can be had: under overload less is delivered, as simulated rows show.

${rates.map(section).join('\n')}
## By number of receivers

The same load on a new queue with default quotas, for more and more receivers. Each waits up to ${RECEIVE_WAIT_MS / 1000} s in a function
when there is nothing, and asks again.

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
    rounded(configuration.rate) + (row.isComputed ? ' *computed*' : ''),
    row.isComputed ? '–' : configuration.receivers.toLocaleString('en-US'),
    rounded(delivered),
    ...[p50 ?? '–', p95 ?? '–', p99 ?? '–'],
    ...[short(perMessage.write), short(perMessage.read)],
    ...[short(perMessage.refusals), short(perMessage.lostRaces)],
    rounded(concurrency),
    ...[dollars.tables.toFixed(2), dollars.functions.toFixed(2), rounded(month)],
    row.isBent ? `**${row.limit.limit}**` : describeUse(row.limit),
  ];
}

function describeUse({ limit, fraction }: Use): string {
  return `${limit}: ${Math.round(100 * fraction)} %`;
}

/** Where one curve bends, as a line of a list. */
function bendLine({ title, rows }: MeasuredCurve): string {
  const isByRate = new Set(rows.map(({ configuration }) => configuration.rate)).size > 1;
  const nameOf = ({ configuration: { rate, receivers }, isComputed }: Row) =>
    isByRate
      ? `${rounded(rate)} msg/s${isComputed ? ' (computed)' : ''}`
      : `${rounded(receivers)} ${receivers === 1 ? 'receiver' : 'receivers'}`;
  const kept = rows.filter(({ isBent }) => !isBent);
  const shown = isByRate ? kept.slice(-1) : kept;
  const keeps = shown.length === 0 ? 'nothing' : shown.map(nameOf).join(', ');
  // All computed rows of a curve end at the same limit.
  const firstComputed = rows.findIndex(({ isBent, isComputed }) => isBent && isComputed);
  const bends = rows
    .filter(({ isBent, isComputed }, i) => isBent && (!isComputed || i === firstComputed))
    .map((row) => `${nameOf(row)} → ${rounded(row.delivered)} delivered (${row.limit.limit})`);
  return `- **${title}**: keeps up with ${keeps}; ${bends.length === 0 ? 'does not bend here' : bends.join('; ')}.`;
}
