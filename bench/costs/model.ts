import { DAY_MS, MINUTE_MS } from '../../shared/domain/units.ts';
import { OPERATIONS } from '../counted-units.ts';
import {
  type Capacity,
  dollarsPerMillion,
  durationDollarsPerMillion,
  LAMBDA,
  OTHER_PRICES,
  PRICES,
} from '../prices.ts';
import type { MeasuredIdle, MeasuredMessages, MeasuredReceive, MeasuredWait } from './measured.ts';

/** How a stage is set up, as far as it decides costs. */
export interface Stage {
  readonly endpoint: 'apiGateway' | 'functionUrl';
  /** The memory of functions that receive, and of all others, MB. */
  readonly receiveMegabytes: number;
  readonly megabytes: number;
  /** Whether Lambda logs its own lines about each call. */
  readonly logsCalls: boolean;
  readonly traces: boolean;
}

/** Dollars, item by item. */
export interface Bill {
  readonly endpoint: number;
  readonly invocations: number;
  readonly duration: number;
  readonly logs: number;
  readonly traces: number;
  readonly database: number;
}

/** A round trip to DynamoDB, ms: between the medians of a read and a write (docs/scale.md). */
const ROUND_TRIP_MS = 5;
/** From an idle client to a function and back, ms (docs/scale.md). */
const CLIENT_MS = 10;
/** The pause that an answer without a message asks for, ms: its `Retry-After` where the wait was cut. */
export const OBEDIENT_MS = 1000;
const MONTH_MS = 30 * DAY_MS;
const DAYS = 30;
const HOURS = 24 * DAYS;

/** The time that a function with so much memory takes for so much processor time, ms. */
function slowed(cpuMs: number, megabytes: number): number {
  return cpuMs / Math.min(1, megabytes / LAMBDA.megabytesOfProcessor);
}

/** The sum of a bill. */
export function sumOf({ endpoint, invocations, duration, logs, traces, database }: Bill): number {
  return endpoint + invocations + duration + logs + traces + database;
}

/** The sum of bills, item by item. */
export function addBills(...bills: readonly Bill[]): Bill {
  const sum = (item: keyof Bill) => bills.reduce((total, bill) => total + bill[item], 0);
  return {
    endpoint: sum('endpoint'),
    invocations: sum('invocations'),
    duration: sum('duration'),
    logs: sum('logs'),
    traces: sum('traces'),
    database: sum('database'),
  };
}

/** A bill so many times. */
export function timesBill(bill: Bill, times: number): Bill {
  return Object.fromEntries(
    Object.entries(bill).map(([item, dollars]) => [item, dollars * times]),
  ) as unknown as Bill;
}

/** The bill of a million calls that take `ms` each in a function with so much memory. */
function billOfCalls(stage: Stage, ms: number, megabytes: number, units: Capacity): Bill {
  return {
    endpoint: stage.endpoint === 'apiGateway' ? PRICES.perMillionHttpRequests : 0,
    invocations: PRICES.perMillionInvocations,
    duration: durationDollarsPerMillion(ms, megabytes),
    logs: stage.logsCalls ? (LAMBDA.infoLogBytes / 1e3) * PRICES.perLogGigabyte : 0,
    traces: stage.traces ? LAMBDA.traced * PRICES.perMillionTraces : 0,
    database: dollarsPerMillion(units),
  };
}

/** The bill of a million messages in some of the operations. */
export function billOfMessages(
  stage: Stage,
  { operations }: MeasuredMessages,
  which: readonly (typeof OPERATIONS)[number][] = OPERATIONS,
): Bill {
  const bills = which.map((name) => {
    const { httpRequests: calls, roundTrips, cpuMs, read, write } = operations[name];
    const megabytes = name === 'receive' ? stage.receiveMegabytes : stage.megabytes;
    const ms = slowed(cpuMs, megabytes) + roundTrips * ROUND_TRIP_MS;
    const perCall = billOfCalls(stage, ms, megabytes, { read: read / calls, write: write / calls });
    return timesBill(perCall, calls);
  });
  return addBills(...bills);
}

/**
 * The bill of one receiver that waits for a month without a message. It calls again at once, or after the pause that
 * the answer asks for.
 */
export function billOfWaiting(stage: Stage, wait: MeasuredWait, isObedient: boolean): Bill {
  const receive = isObedient ? wait.obedient : wait.looping;
  // While it waits, a function has time to compute.
  const workMs = slowed(receive.cpuMs, stage.receiveMegabytes) + ROUND_TRIP_MS;
  const ms = Math.max(wait.waitMs, workMs);
  const everyMs = ms + CLIENT_MS + (isObedient ? OBEDIENT_MS : 0);
  return timesBill(
    billOfCalls(stage, ms, stage.receiveMegabytes, receive),
    MONTH_MS / everyMs / 1e6,
  );
}

/** The bill of one receiver that asks at intervals and does not wait, for a month. */
export function billOfPolling(stage: Stage, receive: MeasuredReceive, everyMs: number): Bill {
  const ms = slowed(receive.cpuMs, stage.receiveMegabytes) + ROUND_TRIP_MS;
  return timesBill(
    billOfCalls(stage, ms, stage.receiveMegabytes, receive),
    MONTH_MS / everyMs / 1e6,
  );
}

/** What a namespace costs a month in which nothing happens, in dollars. */
export interface IdleBill {
  readonly entities: number;
  readonly secret: number;
  readonly alarms: number;
  readonly sweepFunction: number;
  readonly sweepDatabase: number;
}

const ALARMS_METRICS = 9;
const SWEEP_MEGABYTES = 512;
/** A run of the sweep that finds nothing to do, ms, and its calls of the function in a month. */
const SWEEP_MS = 60;
const SWEEPS = MONTH_MS / MINUTE_MS;

/** The bill of an idle namespace for a month. */
export function billOfIdle({ entities, usual, hourly, daily }: MeasuredIdle): IdleBill {
  const database =
    SWEEPS * dollarsPerMillion(usual) +
    HOURS * dollarsPerMillion(hourly) +
    DAYS * dollarsPerMillion(daily);
  const perRun =
    PRICES.perMillionInvocations + durationDollarsPerMillion(SWEEP_MS, SWEEP_MEGABYTES);
  return {
    entities,
    secret: PRICES.perSecret,
    alarms: ALARMS_METRICS * PRICES.perAlarm,
    sweepFunction: (SWEEPS * perRun) / 1e6,
    sweepDatabase: database / 1e6,
  };
}

/** Dollars of a million messages in other services, for one consumer. */
export interface Others {
  readonly sqs: number;
  readonly snsAndSqs: number;
  readonly eventBridgeAndSqs: number;
  /** Beyond the operations that the month includes. */
  readonly azure: number;
}

/** What others ask for a million messages of up to 1 KB that are sent, received and completed in batches. */
export function othersOf(batch: number, consumers = 1): Others {
  const sqsCalls = 1 / Math.min(batch, OTHER_PRICES.sqsBatch);
  const snsCalls = 1 / Math.min(batch, OTHER_PRICES.snsBatch);
  const consumed = 2 * sqsCalls * OTHER_PRICES.sqsPerMillionRequests * consumers;
  return {
    sqs: sqsCalls * OTHER_PRICES.sqsPerMillionRequests + consumed,
    snsAndSqs: snsCalls * OTHER_PRICES.snsPerMillionRequests + consumed,
    eventBridgeAndSqs: OTHER_PRICES.eventBridgePerMillionEvents + consumed,
    azure: (1 + 2 * consumers) * OTHER_PRICES.azurePerMillionOperations,
  };
}
