/** What one deployment may use at most, besides the limits of its item collections. */
export interface Quotas {
  readonly name: string;
  /** API Gateway: requests a second, and the burst. */
  readonly requests: { readonly rate: number; readonly burst: number };
  /** Lambda: executions at once, of all functions of the account together. */
  readonly concurrency: number;
  /** DynamoDB: write units, and as many read units, that one table on demand gives in a second. */
  readonly tableUnits: number;
}

/** A new stage in a new account: the throttle of `cdk/settings.ts`, the rest as AWS sets it. */
export const DEFAULT_QUOTAS: Quotas = {
  name: 'default',
  requests: { rate: 2000, burst: 1000 },
  concurrency: 1000,
  tableUnits: 40_000,
};

/** All quotas raised on request, so that the item collections are the bottleneck. */
export const RAISED_QUOTAS: Quotas = {
  name: 'raised',
  requests: { rate: 100_000, burst: 50_000 },
  concurrency: 10_000,
  tableUnits: 400_000,
};

/** The limit of the service for one item collection, units a second; no quota raises it. */
export const COLLECTION_UNITS = { write: 1000, read: 3000 } as const;

/** Invocations a second that Lambda allows for each concurrent execution. */
const INVOCATIONS_PER_EXECUTION = 10;

/** The invocations a second that Lambda allows by its quotas. */
export function invocationRate({ concurrency }: Quotas): number {
  return INVOCATIONS_PER_EXECUTION * concurrency;
}
