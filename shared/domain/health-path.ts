/** Where the health of a process is told; one of the routes of HTTP, for which nobody needs a right. */
export const HEALTH_PATH = '/$health';
