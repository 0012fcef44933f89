import { isTransient } from '../domain/broker-error.ts';

/** The log entry of a fault of the service. Alarms count its level; see cdk/constructs/alarms.ts. */
export interface FaultEntry {
  /** ISO 8601, UTC. */
  readonly time: string;
  /** `warn` for a temporary failure, which raises no alarm. */
  readonly level: 'error' | 'warn';
  /** The id in the response to the client; undefined where there was none. */
  readonly trackingId: string | undefined;
  /** The stack of the error, and those of its causes. */
  readonly fault: string;
}

/**
 * Writes a fault of the service to the log, as one line of JSON. All faults are written here. `trackingId`
 * = the id in the response to the client, if there was one. It writes to stderr, because Lambda wraps only
 * the output of `console` and passes this line on unchanged.
 */
export function reportFault(error: unknown, trackingId?: string): void {
  write(faultEntry(error, Date.now(), trackingId));
}

/**
 * Reports a failure of background work, which the sweep will do later. A busy or slow table is not a fault of
 * the service, so that line has the level `warn`.
 */
export function reportBackgroundFault(error: unknown): void {
  write({ ...faultEntry(error, Date.now()), ...(isTransient(error) && { level: 'warn' }) });
}

function write(entry: FaultEntry): void {
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}

/** Creates the entry of a fault. `at` = the time of its report, epoch ms. */
export function faultEntry(error: unknown, at: number, trackingId?: string): FaultEntry {
  return {
    time: new Date(at).toISOString(),
    level: 'error',
    trackingId,
    fault: describeFault(error),
  };
}

function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const errors = error instanceof AggregateError ? error.errors : [];
  const causes = error.cause === undefined ? [] : [error.cause];
  return [
    error.stack ?? error.message,
    ...errors.map((each) => `because of ${describeFault(each)}`),
    ...causes.map((cause) => `caused by ${describeFault(cause)}`),
  ].join('\n');
}
