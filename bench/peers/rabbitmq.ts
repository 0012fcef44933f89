import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { freePort } from '../../local/engine/engine.ts';
import type { ExpectedMessages, QueueClients, Receiving } from '../singles/queue-clients.ts';
import { findProgram, loadPackage } from './installed.ts';
import { type Peer, type RunningPeer, stoppingOnFailure } from './peer.ts';
import { createDataFolder, type ServerProgram, startProgram } from './server-program.ts';

/** What is used of amqplib. */
interface AmqpLib {
  connect(url: string): Promise<Connection>;
}
interface Connection {
  readonly connection: { readonly serverProperties: { readonly version: string } };
  createConfirmChannel(): Promise<Channel>;
  close(): Promise<void>;
}
interface Delivery {
  readonly content: Buffer;
}
interface Channel {
  assertQueue(queue: string, options: { readonly durable: boolean }): Promise<unknown>;
  deleteQueue(queue: string): Promise<unknown>;
  sendToQueue(
    queue: string,
    body: Buffer,
    options: { readonly persistent: boolean },
    confirmed: (error: unknown) => void,
  ): void;
  prefetch(count: number): Promise<unknown>;
  consume(
    queue: string,
    take: (delivery: Delivery | null) => void,
    options: { readonly noAck: boolean },
  ): Promise<{ readonly consumerTag: string }>;
  ack(delivery: Delivery, andAllBefore: boolean): void;
  cancel(consumerTag: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Where packages of systems keep the script that runs as any user. */
const SCRIPT_FOLDERS = ['/usr/lib/rabbitmq/bin', '/usr/local/sbin', '/usr/sbin'];

/** RabbitMQ by amqplib. */
export const RABBITMQ: Peer = {
  name: 'RabbitMQ',
  how: 'durable queue, persistent messages, publisher confirms, manual acknowledgements, a channel for each client with a prefetch of its batch',
  start: async (packages) => {
    const amqplib = await loadPackage<AmqpLib>(packages, 'amqplib');
    const script = findProgram('rabbitmq-server', SCRIPT_FOLDERS);
    const epmd = findProgram('epmd');
    const [port, epmdPort, nodesPort] = [await free(), await free(), await free()];
    const folder = await createDataFolder();
    // The register of Erlang's nodes, which would otherwise be started and stay.
    const register = startProgram(epmd, ['-port', String(epmdPort)], { cwd: folder.path });
    const server = startProgram(script, [], {
      cwd: folder.path,
      env: environment(folder.path, { port, epmdPort, nodesPort }, dirname(epmd)),
    });
    const stop = async () => {
      await server.stop();
      await register.stop();
      await folder.remove();
    };
    return await stoppingOnFailure(stop, () => connect(amqplib, server, port, stop));
  },
};

const free = () => freePort('127.0.0.1');

interface Ports {
  readonly port: number;
  readonly epmdPort: number;
  readonly nodesPort: number;
}

function environment(folder: string, { port, epmdPort, nodesPort }: Ports, epmdFolder: string) {
  return {
    ...process.env,
    PATH: `${process.env['PATH']}:${epmdFolder}`,
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `bench-${randomBytes(6).toString('hex')}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(nodesPort),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    // Settings of this machine do not apply.
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none.conf'),
    RABBITMQ_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
  };
}

async function connect(
  { module, version }: { readonly module: AmqpLib; readonly version: string },
  server: ServerProgram,
  port: number,
  stop: () => Promise<void>,
): Promise<RunningPeer> {
  const connection = await server.untilReady(() => module.connect(`amqp://127.0.0.1:${port}`));
  return {
    versions: `RabbitMQ ${connection.connection.serverProperties.version}, amqplib ${version}`,
    open: async (clients) => {
      const name = `bench-${randomBytes(6).toString('hex')}`;
      const channels = await Promise.all(
        Array.from({ length: clients }, () => connection.createConfirmChannel()),
      );
      await channels[0]?.assertQueue(name, { durable: true });
      return new RabbitClients(name, channels);
    },
    stop: async () => {
      await connection.close();
      await stop();
    },
  };
}

class RabbitClients implements QueueClients {
  readonly #queue: string;
  readonly #channels: readonly Channel[];

  constructor(queue: string, channels: readonly Channel[]) {
    this.#queue = queue;
    this.#channels = channels;
  }

  async send(client: number, bodies: readonly Buffer[]): Promise<void> {
    await Promise.all(
      bodies.map(
        (body) =>
          new Promise<void>((resolve, reject) => {
            this.#channels[client]?.sendToQueue(this.#queue, body, { persistent: true }, (error) =>
              error ? reject(error) : resolve(),
            );
          }),
      ),
    );
  }

  async receive(batch: number, expected: ExpectedMessages): Promise<Receiving> {
    const stops = await Promise.all(
      this.#channels.map((channel) => this.#consume(channel, batch, expected)),
    );
    return {
      stop: async () => {
        await Promise.all(stops.map((stop) => stop()));
      },
    };
  }

  async close(): Promise<void> {
    await this.#channels[0]?.deleteQueue(this.#queue);
    await Promise.all(this.#channels.map((channel) => channel.close()));
  }

  /** With batches, one acknowledgement is for all messages that arrived together. */
  async #consume(channel: Channel, batch: number, expected: ExpectedMessages) {
    await channel.prefetch(batch);
    let arrived: Delivery[] = [];
    const acknowledge = () => {
      const last = arrived.at(-1);
      if (last !== undefined) channel.ack(last, true);
      for (const { content } of arrived) expected.completed(content);
      arrived = [];
    };
    const take = (delivery: Delivery | null) => {
      if (delivery === null) return;
      if (arrived.length === 0) setImmediate(acknowledge);
      arrived.push(delivery);
    };
    const { consumerTag } = await channel.consume(this.#queue, take, { noAck: false });
    return () => channel.cancel(consumerTag);
  }
}
