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
  /** API Gateway HTTP API; each 512 KB of a request or an answer count as one. */
  perMillionHttpRequests: 1,
  perMillionInvocations: 0.2,
  /** Lambda on arm64. */
  perGigabyteSecond: 0.0000133334,
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
