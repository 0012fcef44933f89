import type { ServiceBusClientOptions } from '@azure/service-bus';
import { composeDirect } from '../../../connect/direct/open-direct.ts';
import { openHttps } from '../../../connect/https/open-https.ts';
import { webSocketOf } from '../../../connect/in-process/web-socket.ts';
import { compose } from '../../../lambdas/http/compose.ts';
import { startServer } from '../../../local/server.ts';
import { startClientProxy } from '../../../proxy/client-proxy.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { ONE_AT_A_TIME } from '../../../shared/broker/create-broker.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { isMore } from '../../runner/more.ts';
import { LambdaFunction } from '../../support/lambda-events.ts';
import { ROOT_KEY } from '../../support/start-broker.ts';
import type { TestNamespace } from '../start-namespace.ts';

/** How a client reaches a namespace in one of the ways of docs/connect.md. */
export interface Reached {
  readonly connectionString: string;
  readonly options: ServiceBusClientOptions;
  close(): Promise<void>;
}

type Reach = (namespace: TestNamespace, connectionString: string) => Promise<Reached>;

/** The ways in which the suites of the official client run, by name. */
export const WAYS = {
  /** The AMQP server that a socket reaches. */
  sockets: async (_, connectionString) => ({
    connectionString,
    options: {},
    close: async () => {},
  }),
  /** In the process of the client, which uses the tables. */
  direct: async ({ settings, join }, connectionString) => {
    const upstream = composeDirect(settings);
    const leave = join(upstream);
    const webSocket = webSocketOf(upstream);
    return {
      connectionString,
      options: { webSocketOptions: { webSocket } },
      close: async () => {
        leave();
        await webSocket.close();
      },
    };
  },
  /** In the process of the client, which calls functions as those of a deployment. */
  https: async (namespace, connectionString) => {
    const { upstream, close } = await openFunctions(namespace, connectionString);
    const webSocket = webSocketOf(upstream);
    return {
      connectionString,
      options: { webSocketOptions: { webSocket } },
      close: async () => {
        await webSocket.close();
        await close();
      },
    };
  },
  /** A process beside the client, which calls such functions. It has a key of its own in the place of the root key. */
  proxy: async (namespace, connectionString) => {
    const { upstream, close } = await openFunctions(namespace, connectionString);
    const proxy = await startClientProxy({ upstream, key: PROXY_KEY, host: '127.0.0.1', port: 0 });
    return {
      connectionString: connectionString
        .replace(/Endpoint=[^;]+/, `Endpoint=sb://localhost:${proxy.port}`)
        .replace(`SharedAccessKey=${ROOT_KEY};`, `SharedAccessKey=${PROXY_KEY};`),
      options: {},
      close: async () => {
        await proxy.stop();
        await close();
      },
    };
  },
} as const satisfies Readonly<Record<string, Reach>>;

/** The namespace over its HTTP interface, which a function of its own serves. */
async function openFunctions({ settings, join }: TestNamespace, connectionString: string) {
  const functions = compose({ ...settings, answerBytesMax: LIMITS.answerBytes }, ONE_AT_A_TIME);
  const server = await startServer({
    app: new LambdaFunction(functions, 'apiGateway'),
    memory: functions.dependencies.memory,
    host: '127.0.0.1',
    port: 0,
  });
  const { scheduler = realScheduler, clock, random } = settings;
  const address = connectionString.replace(/:\d+;/, `:${server.port};`);
  const upstream = openHttps({ connectionString: address }, { scheduler, clock, random });
  const leaves = [join(functions), join(upstream)];
  return {
    upstream,
    close: async () => {
      for (const leave of leaves) leave();
      await server.close();
      await functions.close();
    },
  };
}

const PROXY_KEY = 'key-of-the-proxy';

/** The name of a way. */
export type Way = keyof typeof WAYS;

export const ALL_WAYS = Object.keys(WAYS) as readonly Way[];

/** The ways in which whole suites run: in `npm test` the two that have least in common. */
export const WAYS_IN_FULL: readonly Way[] = isMore() ? ALL_WAYS : ['sockets', 'https'];

/**
 * The ways in which rules of entities are checked: who reaches the tables directly may do everything, and a proxy has a
 * key of its own.
 */
export const WAYS_WITH_KEYS: readonly Way[] = ['sockets', 'https'];
