import { DAY_MS, MINUTE_MS } from '../../shared/domain/units.ts';
import type { PatternCosts } from '../amqp/patterns.ts';
import type { OperationCost } from '../counted-units.ts';
import { type Cells, short, table } from '../markdown.ts';
import {
  dollarsPerMillion,
  durationDollarsPerMillion,
  requestDollarsPerMillion,
} from '../prices.ts';
import {
  type ConnectIdle,
  type ConnectRow,
  type ConnectSection,
  HTTPS_MS,
  type Transport,
} from './measure.ts';

export const CONNECT_TITLE = '## What the official client costs in the process of its AMQP surface';

const MINUTES_A_MONTH = (30 * DAY_MS) / MINUTE_MS;
/** What a request takes of a function, as assumed, and its memory. */
const FUNCTION = { ms: 20, megabytes: 512 } as const;

const PATTERNS: readonly (readonly [keyof PatternCosts, string])[] = [
  ['sentAtOnce', 'send 100 one by one, at once'],
  ['sentSingly', 'send one after the other'],
  ['sent', 'send a batch of 100'],
  ['received', 'receive up to 100'],
  ['settled', 'complete them, at once'],
  ['subscribed', 'subscribe, 100 calls at a time'],
  ['subscribedSlowly', 'the same, each call up to 100 ms'],
  ['passedSingly', 'receive and complete one by one'],
];

/** The section on connect/. */
export function printConnect({ rows, idle }: ConnectSection): string {
  return `${CONNECT_TITLE}

For each message, with \`createWebSocket\` of dynabus/connect. Over https the dollars have API Gateway and Lambda beside DynamoDB,
with ${FUNCTION.ms} ms of ${FUNCTION.megabytes} MB for each request, and each answer takes ${HTTPS_MS} ms longer than the work for it, as on the way to AWS.

${table(
  ['transport', 'body', 'what', 'write units', 'read units', 'HTTP requests', '$ per million'],
  rows.flatMap(messageCells),
)}

Receivers that have waited for a while on an empty queue, all in one process:

${table(['transport', 'receivers', 'requests a minute', 'read units a minute', '$ a month'], idle.map(idleCells))}
`;
}

function messageCells({ transport, body, costs }: ConnectRow): readonly Cells[] {
  return PATTERNS.map(([pattern, what]) => {
    const cost = costs[pattern];
    const { write, read } = cost;
    return [
      ...[transport, body, what, short(write), short(read)],
      transport === 'https' ? cost.httpRequests.toFixed(3) : '',
      short(dollarsOf(transport, cost)),
    ];
  });
}

function idleCells({ transport, receivers, cost }: ConnectIdle): Cells {
  const requests = transport === 'https' ? cost.httpRequests : cost.requests;
  const month = (dollarsOf(transport, cost) * MINUTES_A_MONTH) / 1e6;
  return [transport, receivers, short(requests), short(cost.read), month.toFixed(2)];
}

/** Dollars of a million times. */
function dollarsOf(transport: Transport, cost: OperationCost): number {
  if (transport === 'direct') return dollarsPerMillion(cost);
  const { ms, megabytes } = FUNCTION;
  return (
    dollarsPerMillion(cost) +
    requestDollarsPerMillion(cost.httpRequests) +
    cost.httpRequests * durationDollarsPerMillion(ms, megabytes)
  );
}
