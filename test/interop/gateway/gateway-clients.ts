import { ServiceBusClient } from '@azure/service-bus';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { ROOT_KEY } from './gateway-task.ts';

const KEY_NAME = 'RootManageSharedAccessKey';

/** A connection string for clients that use TLS. */
export function connectionString(port: number, rest = ''): string {
  return `Endpoint=sb://localhost:${port};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${ROOT_KEY};${rest}`;
}

/** A connection string without TLS: to a task directly, or to the plain port of a load balancer. */
export function plain(port: number): string {
  return connectionString(port, 'UseDevelopmentEmulator=true;');
}

/** A messaging client with a short retry delay. */
export function clientOf(port: number): ServiceBusClient {
  return new ServiceBusClient(plain(port), { retryOptions: { retryDelayInMs: 100 } });
}

/** The URL and header fields of an authorized HTTP request. */
export function addressed(port: number, path: string) {
  const audience = `http://localhost:${port}/`;
  const expiresAt = Date.now() + 60_000;
  const authorization = createSasToken({ audience, keyName: KEY_NAME, key: ROOT_KEY, expiresAt });
  return { url: `${audience}${path}`, headers: { authorization } };
}

/** The health check of a load balancer. */
export function health(port: number): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/$health`);
}
