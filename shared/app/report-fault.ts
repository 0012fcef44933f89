import { isPassing } from '../domain/broker-error.ts';

/** A fault of our own as it stands in the log. Alarms count its level; see cdk/constructs/alarms.ts. */
export interface FaultEntry {
  /** ISO 8601, UTC. */
  readonly time: string;
  /** `warn` for what passes by itself and sets off no alarm. */
  readonly level: 'error' | 'warn';
  /** What the client was told, if there was one to tell. */
  readonly trackingId: string | undefined;
  readonly fault: string;
}

/**
 * Writes a fault of our own to the log: one line of JSON, for whoever runs the broker. The one place
 * where faults are written. The tracking id is what the client was told, if there was one to tell. Lambda
 * passes on what is JSON already: it wraps only what goes by `console`.
 */
export function reportFault(error: unknown, trackingId?: string): void {
  write(faultEntry(error, Date.now(), trackingId));
}

/**
 * Reports what failed behind an answer, and is left to the sweep. A table that is busy or slow is no fault of
 * ours there either, so that line has the level `warn`.
 */
export function reportLeftWork(error: unknown): void {
  write({ ...faultEntry(error, Date.now()), ...(isPassing(error) && { level: 'warn' }) });
}

function write(entry: FaultEntry): void {
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}

/** The entry of a fault that happened at `at`, epoch ms. */
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
  const parts = error instanceof AggregateError ? error.errors : [];
  const causes = error.cause === undefined ? [] : [error.cause];
  return [
    error.stack ?? error.message,
    ...parts.map((part) => `because of ${describeFault(part)}`),
    ...causes.map((cause) => `caused by ${describeFault(cause)}`),
  ].join('\n');
}
