import type { Units } from '../shared/storage/dynamodb/capacity-meter.ts';

/**
 * List prices on demand in us-east-1, in dollars, written down from memory. Nobody has compared them with the price
 * list: check them before you rely on a sum.
 */
export const PRICES = {
  /** When they were written down. */
  rememberedOn: '2026-11-22',
  perMillionWriteUnits: 0.625,
  perMillionReadUnits: 0.125,
  /** API Gateway HTTP API; each 512 KB of a request or an answer count as one. A function URL costs nothing. */
  perMillionHttpRequests: 1,
  perMillionInvocations: 0.2,
  /** Lambda on arm64. */
  perGigabyteSecond: 0.0000133334,
  /** CloudWatch Logs, taken in. */
  perLogGigabyte: 0.5,
  /** X-Ray. */
  perMillionTraces: 5,
  /** A secret, an alarm and a custom metric, each a month. */
  perSecret: 0.4,
  perAlarm: 0.1,
} as const;

/** What Lambda does beside running a function, as remembered. */
export const LAMBDA = {
  /** The memory with which a function has one whole processor, MB. It has a share of it below. */
  megabytesOfProcessor: 1769,
  /** Lambda's own lines about one call at the level INFO, in JSON: start and report. */
  infoLogBytes: 650,
  /** The share of calls that X-Ray traces beyond the first in each second. */
  traced: 0.05,
} as const;

/** Prices of other services for the same work, as remembered at the same time. */
export const OTHER_PRICES = {
  /** A standard queue; a request carries up to 10 messages and 64 KB. */
  sqsPerMillionRequests: 0.4,
  sqsBatch: 10,
  /** A request to SNS carries up to 10 messages and 64 KB. Deliveries to SQS are free. */
  snsPerMillionRequests: 0.5,
  snsBatch: 10,
  /** Custom events of EventBridge, each counted, also in a batch. */
  eventBridgePerMillionEvents: 1,
  /** Azure Service Bus Standard: a month, with so many operations in it, and a million more. */
  azureMonth: 10,
  azureOperationsIncluded: 13e6,
  azurePerMillionOperations: 0.8,
} as const;

/** Capacity units of a number of messages. */
export type Capacity = Pick<Units, 'read' | 'write'>;

/** The cost of a million messages in DynamoDB; `units` = those of one message. */
export function dollarsPerMillion({ read, write }: Capacity): number {
  return write * PRICES.perMillionWriteUnits + read * PRICES.perMillionReadUnits;
}

/** The cost of a million messages in API Gateway and in invocations of functions. */
export function requestDollarsPerMillion(httpRequestsPerMessage: number): number {
  return httpRequestsPerMessage * (PRICES.perMillionHttpRequests + PRICES.perMillionInvocations);
}

/** The cost of the duration of a million invocations. */
export function durationDollarsPerMillion(ms: number, megabytes: number): number {
  return 1e6 * (ms / 1000) * (megabytes / 1024) * PRICES.perGigabyteSecond;
}
