import { logLine } from '../proxy/log-line.ts';

/** Logs an event as one line of JSON with `time` and `level`. Faults are logged by `reportFault`. */
export function logEvent(message: string, details: Readonly<Record<string, unknown>> = {}): void {
  write({ level: 'info', message, ...details });
}

/** Logs a line of the access log. */
export function logAccess(kind: string, details: Readonly<Record<string, unknown>>): void {
  write({ level: 'info', access: kind, ...details });
}

/**
 * Logs a value in CloudWatch's embedded metric format, from which CloudWatch makes a metric. `details` are logged only.
 */
export function logMetric(
  { namespace, name, dimension }: Readonly<Record<'namespace' | 'name' | 'dimension', string>>,
  of: string,
  value: number,
  details: Readonly<Record<string, unknown>> = {},
): void {
  const CloudWatchMetrics = [
    { Namespace: namespace, Dimensions: [[dimension]], Metrics: [{ Name: name, Unit: 'Count' }] },
  ];
  const now = Date.now();
  write(
    {
      level: 'info',
      _aws: { Timestamp: now, CloudWatchMetrics },
      [dimension]: of,
      [name]: value,
      ...details,
    },
    now,
  );
}

/** `at` = epoch ms. */
function write(entry: object, at?: number): void {
  process.stdout.write(logLine(entry, at));
}
