import type { TestContext } from 'node:test';
import { ServiceBusClient, type ServiceBusClientOptions } from '@azure/service-bus';
import type { HttpsOptions } from '../../../connect/https/https-options.ts';
import { openHttps } from '../../../connect/https/open-https.ts';
import { webSocketOf } from '../../../connect/in-process/web-socket.ts';
import type { Upstream } from '../../../connect/upstream.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { type AdministrationClient, administrationOf } from '../administration/admin-clients.ts';
import { newName } from '../messaging/bus-entities.ts';
import { startNamespace, type TestNamespace } from '../start-namespace.ts';
import { FaultyLink } from './faulty-link.ts';

/** A namespace with one queue that is reached over HTTP, by a link that may lose what it carries. */
export interface OverHttp {
  readonly namespace: TestNamespace;
  readonly link: FaultyLink;
  readonly upstream: Upstream;
  readonly connectionString: string;
  readonly queue: string;
  /** The monotonic clock of this process. */
  readonly time: VirtualTime;
}

type QueueSettings = Parameters<AdministrationClient['createQueue']>[1];

/** Starts one. */
export async function startOverHttp(
  t: TestContext,
  options: Pick<HttpsOptions, 'sendsOnce'> = {},
  settings?: QueueSettings,
): Promise<OverHttp> {
  const namespace = await startNamespace();
  const link = await FaultyLink.start(t, namespace.port);
  const { clock, random } = namespace.settings;
  const time = new VirtualTime();
  const connectionString = namespace.connectionString.replace(/:\d+;/, `:${link.port};`);
  const surroundings = { clock, random, scheduler: time };
  const upstream = openHttps({ connectionString, ...options }, surroundings);
  t.after(async () => {
    await upstream.close();
    await namespace.stop();
  });
  const queue = newName('over-http');
  await administrationOf(namespace.connectionString).createQueue(queue, settings);
  return { namespace, link, upstream, connectionString, queue, time };
}

/** Connects the official client in this process. */
export function connectInProcess(
  t: TestContext,
  { upstream, connectionString }: OverHttp,
  options: ServiceBusClientOptions = {},
): ServiceBusClient {
  const webSocket = webSocketOf({ ...upstream, close: async () => {} });
  const client = new ServiceBusClient(connectionString, {
    ...options,
    webSocketOptions: { webSocket },
  });
  t.after(async () => {
    await client.close();
    await webSocket.close();
  });
  return client;
}
