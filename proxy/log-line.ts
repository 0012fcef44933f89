/** An entry of the log as one line of JSON, which begins with its time. `at` = epoch ms. */
export function logLine(entry: object, at = Date.now()): string {
  return `${JSON.stringify({ time: new Date(at).toISOString(), ...entry })}\n`;
}
