/** Writes what happened to the log, one line of JSON with `time` and `level`. Faults go by `reportFault`. */
export function logEvent(message: string, details: Readonly<Record<string, unknown>> = {}): void {
  write({ level: 'info', message, ...details });
}

/** Writes a line of the access log: what one client did. */
export function logAccess(kind: string, details: Readonly<Record<string, unknown>>): void {
  write({ level: 'info', access: kind, ...details });
}

/**
 * Writes a number of this moment to the log in CloudWatch's embedded metric format: CloudWatch makes a
 * metric of such lines by itself. `details` only stand beside it.
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
function write(entry: object, at = Date.now()): void {
  process.stdout.write(`${JSON.stringify({ time: new Date(at).toISOString(), ...entry })}\n`);
}
