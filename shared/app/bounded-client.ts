/** The SDK's own default for open connections, which is enough for a function. */
export const SOCKETS_MAX = 50;

/**
 * Options of a client of AWS: short timeouts, so that three attempts end before the client times out. The SDK keeps
 * connections open between calls by itself.
 */
export function boundedClient(maxSockets: number) {
  const agent = { keepAlive: true, maxSockets };
  return {
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 1000,
      requestTimeout: 5000,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  };
}
