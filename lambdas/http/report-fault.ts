/**
 * Writes a failure that no client is told of to the log: one line, for whoever runs the broker. The
 * one place, apart from unknown errors of requests, where something is written to the log.
 */
export function reportFault(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${JSON.stringify({ level: 'error', fault: text })}\n`);
}
