import { type Cells, table } from '../markdown.ts';
import { LAMBDA, PRICES } from '../prices.ts';
import type { Measured } from './measured.ts';
import {
  addBills,
  type Bill,
  billOfIdle,
  billOfMessages,
  billOfPolling,
  billOfWaiting,
  othersOf,
  type Stage,
  sumOf,
  timesBill,
} from './model.ts';

/** The stage as its settings are by default. */
export const DEFAULT_STAGE: Stage = {
  endpoint: 'apiGateway',
  receiveMegabytes: 256,
  megabytes: 512,
  logsCalls: false,
  traces: false,
};
/** The wait of a receive by default, ms. */
export const DEFAULT_WAIT_MS = 10_000;
const FUNCTION_URL: Stage = { ...DEFAULT_STAGE, endpoint: 'functionUrl', megabytes: 256 };
const LOUD: Stage = { ...DEFAULT_STAGE, logsCalls: true, traces: true };
const MEMORIES = [256, 512, 1024] as const;
/** The worked example. */
const ORDERS_A_DAY = 10_000;
const DAYS = 30;
const POLL_MS = 10_000;
/** The load balancer, addresses and task of the AMQP gateway, a month (docs/cost.md). */
const GATEWAY_MONTH = 35;

/** Dollars with two digits that mean something, and at least the cents. */
export function dollars(value: number): string {
  const digits = value >= 10 ? 1 : 2;
  return (value > 0 && value < 0.01 ? value.toPrecision(1) : value.toFixed(digits)).toString();
}

/** The sections of docs/cost.md that are computed, by the name in their markers. */
export function costSections(measured: Measured): Readonly<Record<string, string>> {
  return {
    messages: printMessages(measured),
    others: printOthers(measured),
    example: printExample(measured),
    waiting: printWaiting(measured),
    idle: printIdle(measured),
  };
}

function printMessages({ messages }: Measured): string {
  const lines = messages.map((row): Cells => {
    const bill = billOfMessages(DEFAULT_STAGE, row);
    return [
      `${row.body}, ${row.batch === 1 ? 'one by one' : `batches of ${row.batch}`}`,
      ...[bill.endpoint, bill.invocations, bill.duration, bill.database].map(dollars),
      `**${dollars(sumOf(bill))}**`,
      dollars(sumOf(billOfMessages(FUNCTION_URL, row))),
      dollars(sumOf(billOfMessages(LOUD, row))),
    ];
  });
  const titles = [
    ...['$ for a million messages', 'API Gateway', 'Lambda: requests', 'Lambda: time', 'DynamoDB'],
    ...['**sum**', 'sum with a function URL', 'sum with `info` and traces'],
  ];
  return table(titles, lines);
}

function printOthers({ messages }: Measured): string {
  const lines = messages
    .filter(({ body }) => body === '1 KB')
    .map((row): Cells => {
      const { sqs, snsAndSqs, eventBridgeAndSqs, azure } = othersOf(row.batch);
      const own = sumOf(billOfMessages(DEFAULT_STAGE, row));
      const url = sumOf(billOfMessages(FUNCTION_URL, row));
      return [
        row.batch === 1 ? 'one by one' : `batches of ${row.batch}`,
        ...[own, url, sqs, snsAndSqs, eventBridgeAndSqs, azure].map(dollars),
      ];
    });
  const titles = [
    ...['$ for a million messages of 1 KB', 'dynabus', 'with a function URL', 'SQS', 'SNS and SQS'],
    ...['EventBridge and SQS', 'Azure Service Bus'],
  ];
  return table(titles, lines);
}

/** The worked example: orders to a topic, and three receivers that get each of them. */
function printExample(measured: Measured): string {
  const { topic, poll } = measured;
  const consumers = topic.subscriptions;
  const millions = (ORDERS_A_DAY * DAYS) / 1e6;
  const published = timesBill(billOfMessages(DEFAULT_STAGE, topic, ['send']), millions);
  const consumed = timesBill(
    billOfMessages(DEFAULT_STAGE, topic, ['receive', 'settle']),
    millions * consumers,
  );
  const messages = sumOf(addBills(published, consumed));
  const idle = idleSum(measured, 100);
  const waiting = consumers * sumOf(defaultWait(measured));
  const polling = consumers * sumOf(billOfPolling(DEFAULT_STAGE, poll, POLL_MS));
  const others = othersOf(1, consumers);
  const share = (bill: Bill) => dollars(sumOf(bill));
  const lines: Cells[] = [
    [`the messages: published, and received and completed ${consumers} times`, dollars(messages)],
    ['of which: published', share(published)],
    ['the namespace itself: secret, alarms, sweep', dollars(idle)],
    ['receivers that wait all the time, in a loop', dollars(waiting)],
    [`or receivers that ask every ${POLL_MS / 1000} s`, dollars(polling)],
    ['or the AMQP gateway, for receivers with the official clients', `${GATEWAY_MONTH} and more`],
    ['**sum, with receivers that wait**', `**${dollars(messages + idle + waiting)}**`],
    ['**sum, with receivers that ask**', `**${dollars(messages + idle + polling)}**`],
    ['the same messages in SNS and SQS', dollars(others.snsAndSqs * millions)],
    ['in EventBridge and SQS', dollars(others.eventBridgeAndSqs * millions)],
    ['in Azure Service Bus Standard, which includes them', '10.0'],
  ];
  return table([`${ORDERS_A_DAY.toLocaleString('en-US')} orders a day, in a month`, '$'], lines);
}

function printWaiting({ waits }: Measured): string {
  const titles = [
    '$ a month',
    ...MEMORIES.flatMap((megabytes) => [`${megabytes} MB, looping`, `${megabytes} MB, obedient`]),
  ];
  const lines = waits.map((wait): Cells => {
    const sums = MEMORIES.flatMap((receiveMegabytes) =>
      [false, true].map((isObedient) => {
        const sum = dollars(
          sumOf(billOfWaiting({ ...DEFAULT_STAGE, receiveMegabytes }, wait, isObedient)),
        );
        const isDefault =
          wait.waitMs === DEFAULT_WAIT_MS && receiveMegabytes === DEFAULT_STAGE.receiveMegabytes;
        return isDefault ? `**${sum}**` : sum;
      }),
    );
    return [`${wait.waitMs / 1000} s`, ...sums];
  });
  return table(titles, lines);
}

function printIdle({ idle }: Measured): string {
  const titles = ['entities', 'secret', 'alarms', 'sweep: Lambda', 'sweep: DynamoDB', '**sum**'];
  const lines = idle.map((row): Cells => {
    const { secret, alarms, sweepFunction, sweepDatabase } = billOfIdle(row);
    const parts = [secret, alarms, sweepFunction, sweepDatabase];
    const sum = parts.reduce((total, part) => total + part, 0);
    return [row.entities.toLocaleString('en-US'), ...parts.map(dollars), `**${dollars(sum)}**`];
  });
  return table(titles, lines);
}

/** What a namespace of about so many entities costs a month in which nothing happens. */
export function idleSum({ idle }: Measured, entities: number): number {
  const row = idle.find((each) => each.entities === entities);
  if (row === undefined) throw new Error(`An idle namespace of ${entities} was not measured.`);
  const { secret, alarms, sweepFunction, sweepDatabase } = billOfIdle(row);
  return secret + alarms + sweepFunction + sweepDatabase;
}

/** The bill of one receiver that waits in a loop, with the settings by default. */
export function defaultWait({ waits }: Measured): Bill {
  const wait = waits.find(({ waitMs }) => waitMs === DEFAULT_WAIT_MS);
  if (wait === undefined) throw new Error(`A wait of ${DEFAULT_WAIT_MS} ms was not measured.`);
  return billOfWaiting(DEFAULT_STAGE, wait, false);
}

/** What the prices are, as text for the head of docs/cost.md. */
export function printPrices(): string {
  const { perMillionWriteUnits, perMillionReadUnits, perMillionHttpRequests } = PRICES;
  const { perMillionInvocations, perGigabyteSecond, perLogGigabyte, perMillionTraces } = PRICES;
  return table(
    ['price, as remembered', '$'],
    [
      ['a million write units of DynamoDB', perMillionWriteUnits],
      ['a million read units', perMillionReadUnits],
      ['a million requests to an HTTP API of API Gateway', perMillionHttpRequests.toFixed(2)],
      ['a million requests of Lambda', perMillionInvocations.toFixed(2)],
      ['a GB-second of Lambda on arm64', perGigabyteSecond.toFixed(10)],
      [`a GB of logs; a call writes ${LAMBDA.infoLogBytes} bytes at \`info\``, perLogGigabyte],
      [`a million traces of X-Ray; ${LAMBDA.traced * 100} % of calls`, perMillionTraces],
    ],
  );
}
