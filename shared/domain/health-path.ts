/** The HTTP route of the health check. It needs no authorization. */
export const HEALTH_PATH = '/$health';
