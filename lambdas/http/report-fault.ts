/**
 * Writes a fault of our own to the log: one line of JSON, for whoever runs the broker. The one place
 * where faults are written. The tracking id is what the client was told, if there was one to tell.
 */
export function reportFault(error: unknown, trackingId?: string): void {
  const entry = { level: 'error', trackingId, fault: describeFault(error) };
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}

function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${describeFault(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
