import { ServiceBusClient } from '@azure/service-bus';
import { createSasToken } from '../../../shared/auth/sas-token.ts';
import { ROOT_KEY } from './gateway-task.ts';

const KEY_NAME = 'RootManageSharedAccessKey';

/** As clients that speak TLS take it. */
export function connectionString(port: number, rest = ''): string {
  return `Endpoint=sb://localhost:${port};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${ROOT_KEY};${rest}`;
}

/** The same without TLS: past the load balancer, or one that leaves it out. */
export function plain(port: number): string {
  return connectionString(port, 'UseDevelopmentEmulator=true;');
}

/** The messaging client, with little patience. */
export function clientOf(port: number): ServiceBusClient {
  return new ServiceBusClient(plain(port), { retryOptions: { retryDelayInMs: 100 } });
}

/** What a call over HTTP needs. */
export function addressed(port: number, path: string) {
  const audience = `http://localhost:${port}/`;
  const expiresAt = Date.now() + 60_000;
  const authorization = createSasToken({ audience, keyName: KEY_NAME, key: ROOT_KEY, expiresAt });
  return { url: `${audience}${path}`, headers: { authorization } };
}

/** What a load balancer asks. */
export function health(port: number): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/$health`);
}
