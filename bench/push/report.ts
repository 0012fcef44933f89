import { type Cells, short, table } from '../markdown.ts';
import { dollarsPerMillion, durationDollarsPerMillion, OTHER_PRICES, PRICES } from '../prices.ts';
import type { PushRow } from './measure.ts';

export const PUSH_TITLE = '## What pushed messages cost';

/** The memory of the functions that wake and push, MB: an assumption. */
const MEMORY_MB = 256;
/** A send, a receive and a deletion. */
const SQS_REQUESTS = 3;

/** The section on messages that are pushed to functions. */
export function printPush(rows: readonly PushRow[]): string {
  const lines = rows.map((row): Cells => {
    const { batch, targetMs, read, write, invocations, wakeMs, pushMs, latencyMs } = row;
    const database = dollarsPerMillion(row);
    const time = durationDollarsPerMillion(wakeMs + pushMs, MEMORY_MB);
    const lambda = invocations * PRICES.perMillionInvocations + time;
    const numbers = [read, write, invocations, wakeMs + pushMs].map(short);
    const dollars = [database, lambda, database + lambda, sqsDollars(batch)].map(money);
    return [batch, targetMs, ...numbers, ...dollars, latencyMs.toFixed(0)];
  });
  return `${PUSH_TITLE}

Messages of 200 bytes are sent and pushed to a function, so many at once as a call takes; each line is for a message. The
functions that wake and push run from their bundles beside a real engine with its stream, and Lambda is a server on the same
machine, so the time and the latency are those of a busy machine, and an upper bound. The sends count their units, and no HTTP endpoint. Dollars are
for a million messages: of DynamoDB, of Lambda with ${MEMORY_MB} MB (the functions that wake and push, and the invocations of
the target, whose own time is not counted), both together, and of SQS with a Lambda trigger by its prices: ${SQS_REQUESTS} requests for up to
${OTHER_PRICES.sqsBatch} messages, and the invocation of the target; SQS also has no cost for the time in which the target works.

${table(
  [
    ...['at once', 'target ms', 'read units', 'write units', 'invocations', 'ms of functions'],
    ...['$ DynamoDB', '$ Lambda', '$ together', '$ SQS', 'ms from send to handler'],
  ],
  lines,
)}
`;
}

function sqsDollars(batch: number): number {
  const requests = SQS_REQUESTS / Math.min(batch, OTHER_PRICES.sqsBatch);
  const invocations = 1 / batch;
  return requests * OTHER_PRICES.sqsPerMillionRequests + invocations * PRICES.perMillionInvocations;
}

function money(dollars: number): string {
  return dollars.toFixed(2);
}
