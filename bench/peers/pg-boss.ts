import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../local/engine/engine.ts';
import type { ExpectedMessages, QueueClients, Receiving } from '../singles/queue-clients.ts';
import { findProgram, loadPackage, versionedFolders, versionOf } from './installed.ts';
import { type Peer, stoppingOnFailure } from './peer.ts';
import { createDataFolder, insteadOfRoot, startProgram } from './server-program.ts';

/** What is used of pg-boss. Its class is the default export of older versions. */
type PgBossModule = { readonly PgBoss: PgBossClass } | { readonly default: PgBossClass };
type PgBossClass = new (options: {
  readonly connectionString: string;
  readonly max: number;
}) => PgBoss;
interface PgBoss {
  on(event: 'error', handle: (error: unknown) => void): void;
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean; readonly wait: boolean }): Promise<void>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: Data): Promise<string | null>;
  insert(jobs: readonly { readonly name: string; readonly data: Data }[]): Promise<void>;
  fetch(name: string, options: { readonly batchSize: number }): Promise<readonly Fetched[]>;
  complete(name: string, ids: string | readonly string[]): Promise<unknown>;
}
interface Data {
  readonly body: string;
}
interface Fetched {
  readonly id: string;
  readonly data: Data;
}

const run = promisify(execFile);
/** As many as there are clients at most. */
const CONNECTIONS = 32;
const USER = 'postgres';

/** pg-boss on PostgreSQL. */
export const PG_BOSS: Peer = {
  name: 'pg-boss on PostgreSQL',
  how: 'each commit flushed to disk, a pool of 32 connections, calls of fetch and complete',
  start: async (packages) => {
    const { module, version } = await loadPackage<PgBossModule>(packages, 'pg-boss');
    const program = findProgram('postgres', versionedFolders('/usr/lib/postgresql'));
    const user = insteadOfRoot(USER);
    const folder = await createDataFolder(user);
    const place = { ...user, cwd: folder.path };
    const data = join(folder.path, 'data');
    await stoppingOnFailure(folder.remove, () =>
      run(join(dirname(program), 'initdb'), ['-D', data, '-U', USER, '-A', 'trust'], place),
    );
    const port = await freePort('127.0.0.1');
    const listen = ['-p', String(port), '-k', folder.path, '-c', 'listen_addresses=127.0.0.1'];
    const server = startProgram(program, ['-D', data, ...listen], place);
    const stop = async () => {
      // Ends connections; the default would wait for them.
      await server.stop('SIGINT');
      await folder.remove();
    };
    return await stoppingOnFailure(stop, async () => {
      const boss = await server.untilReady(() => startBoss(module, port));
      return {
        versions: `pg-boss ${version}, PostgreSQL ${await versionOf(program)}`,
        open: async (clients) => {
          const queue = `bench-${randomBytes(6).toString('hex')}`;
          await boss.createQueue(queue);
          return new BossClients(boss, queue, clients);
        },
        stop: async () => {
          await boss.stop({ graceful: false, wait: true });
          await stop();
        },
      };
    });
  },
};

async function startBoss(module: PgBossModule, port: number): Promise<PgBoss> {
  const connectionString = `postgres://${USER}@127.0.0.1:${port}/postgres`;
  const PgBoss = 'PgBoss' in module ? module.PgBoss : module.default;
  const boss = new PgBoss({ connectionString, max: CONNECTIONS });
  boss.on('error', console.error);
  await boss.start();
  return boss;
}

class BossClients implements QueueClients {
  readonly #boss: PgBoss;
  readonly #queue: string;
  readonly #clients: number;

  constructor(boss: PgBoss, queue: string, clients: number) {
    this.#boss = boss;
    this.#queue = queue;
    this.#clients = clients;
  }

  async send(_client: number, bodies: readonly Buffer[]): Promise<void> {
    const jobs = bodies.map((body) => ({ name: this.#queue, data: { body: String(body) } }));
    const [only] = jobs;
    if (jobs.length === 1 && only !== undefined) await this.#boss.send(this.#queue, only.data);
    else await this.#boss.insert(jobs);
  }

  async receive(batch: number, expected: ExpectedMessages): Promise<Receiving> {
    let isStopped = false;
    const runOne = async () => {
      while (!isStopped) {
        const count = expected.seek(batch);
        if (count === 0) return;
        const jobs = await this.#boss.fetch(this.#queue, { batchSize: batch });
        expected.sought(count, jobs.length);
        if (jobs.length === 0) continue;
        await this.#boss.complete(
          this.#queue,
          jobs.map(({ id }) => id),
        );
        for (const { data } of jobs) expected.completed(data.body);
      }
    };
    const runs = Promise.all(Array.from({ length: this.#clients }, runOne)).catch((error) =>
      expected.failed(error),
    );
    return {
      stop: async () => {
        isStopped = true;
        await runs;
      },
    };
  }

  /** The queue stays until the database is deleted: pg-boss deletes none that has completed messages. */
  async close(): Promise<void> {}
}
