import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { freePort } from '../../local/engine/engine.ts';
import type { ExpectedMessages, QueueClients, Receiving } from '../singles/queue-clients.ts';
import { findProgram, loadPackage, versionOf } from './installed.ts';
import { type Peer, stoppingOnFailure } from './peer.ts';
import { createDataFolder, startProgram } from './server-program.ts';

/** What is used of BullMQ. */
interface BullModule {
  readonly Queue: new (name: string, options: { readonly connection: Address }) => Queue;
  readonly Worker: new (
    name: string,
    process: () => Promise<void>,
    options: { readonly connection: Address; readonly concurrency: number },
  ) => Worker;
}
interface Address {
  readonly host: string;
  readonly port: number;
  /** BullMQ insists on null for workers, which wait. */
  readonly maxRetriesPerRequest: null;
}
interface Data {
  readonly body: string;
}
interface JobOptions {
  readonly removeOnComplete: boolean;
}
interface Queue {
  add(name: string, data: Data, options: JobOptions): Promise<unknown>;
  addBulk(
    jobs: readonly { readonly name: string; readonly data: Data; readonly opts: JobOptions }[],
  ): Promise<unknown>;
  obliterate(options: { readonly force: boolean }): Promise<void>;
  close(): Promise<void>;
}
interface Worker {
  on(event: 'completed', handle: (job: { readonly data: Data }) => void): void;
  on(event: 'failed' | 'error', handle: (job: unknown, error?: unknown) => void): void;
  close(): Promise<void>;
}

const OPTIONS: JobOptions = { removeOnComplete: true };
const HOST = '127.0.0.1';

/** BullMQ on Redis. */
export const BULLMQ: Peer = {
  name: 'BullMQ on Redis',
  how: 'append-only file flushed every second (`everysec`), one worker that has as many messages at a time as there are clients, or as all their batches together have; it has no receive of several',
  start: async (packages) => {
    const { module, version } = await loadPackage<BullModule>(packages, 'bullmq');
    // BullMQ loads it by itself.
    await loadPackage(packages, 'ioredis');
    const program = findProgram('redis-server');
    const folder = await createDataFolder();
    const port = await freePort(HOST);
    const persistence = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''];
    const server = startProgram(
      program,
      ['--port', String(port), '--bind', HOST, '--dir', folder.path, ...persistence],
      { cwd: folder.path },
    );
    const stop = async () => {
      await server.stop();
      await folder.remove();
    };
    return await stoppingOnFailure(stop, async () => {
      await server.untilReady(() => canConnect(port));
      const address = { host: HOST, port, maxRetriesPerRequest: null };
      return {
        versions: `BullMQ ${version}, Redis ${await versionOf(program)}`,
        open: async (clients) => {
          const name = `bench-${randomBytes(6).toString('hex')}`;
          return new BullClients(module, name, address, clients);
        },
        stop,
      };
    });
  },
};

function canConnect(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}

class BullClients implements QueueClients {
  readonly #module: BullModule;
  readonly #name: string;
  readonly #address: Address;
  readonly #clients: number;
  readonly #queue: Queue;

  constructor(module: BullModule, name: string, address: Address, clients: number) {
    this.#module = module;
    this.#name = name;
    this.#address = address;
    this.#clients = clients;
    this.#queue = new module.Queue(name, { connection: address });
  }

  async send(_client: number, bodies: readonly Buffer[]): Promise<void> {
    const [only] = bodies;
    const dataOf = (body: Buffer): Data => ({ body: String(body) });
    if (bodies.length === 1 && only !== undefined) {
      await this.#queue.add('message', dataOf(only), OPTIONS);
      return;
    }
    const jobs = bodies.map((body) => ({ name: 'message', data: dataOf(body), opts: OPTIONS }));
    await this.#queue.addBulk(jobs);
  }

  async receive(batch: number, expected: ExpectedMessages): Promise<Receiving> {
    const worker = new this.#module.Worker(this.#name, async () => {}, {
      connection: this.#address,
      concurrency: this.#clients * batch,
    });
    worker.on('completed', ({ data }) => expected.completed(data.body));
    worker.on('failed', (_job, error) => expected.failed(error));
    worker.on('error', (error) => expected.failed(error));
    return { stop: () => worker.close() };
  }

  async close(): Promise<void> {
    await this.#queue.obliterate({ force: true });
    await this.#queue.close();
  }
}
