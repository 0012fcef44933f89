/** Where the health of the process is told; one of the routes of HTTP. */
export const HEALTH_PATH = '/$health';

/** Whether a request asks for the health of the process, for which nobody needs a right. */
export function isHealthCheck({ url }: Request): boolean {
  return new URL(url).pathname === HEALTH_PATH;
}
