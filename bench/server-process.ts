import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ENGINE_KINDS, findRecipe } from '../local/engine/engine-recipes.ts';
import { PUBLIC_ROOT_KEY } from '../shared/auth/root-rule.ts';
import { BenchClient } from './http-client.ts';

/** The local server in a process of its own. */
export interface ServerProcess {
  readonly port: number;
  /** For clients that speak AMQP. */
  readonly connectionString: string;
  /** Creates a client with a number of connections; the caller closes it. */
  connect(connections: number): BenchClient;
  /** The memory that the server holds after a garbage collection. */
  memory(): Promise<NodeJS.MemoryUsage>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly engine: string | undefined;
  /** The folder for the processor profile of the server; absent = no profile. */
  readonly profileDirectory: string | undefined;
  /** An engine that runs already and may be shared; absent = the server starts its own. */
  readonly endpoint?: string;
  /** The folder where the engine keeps its data; absent = in memory. */
  readonly dataDirectory?: string;
  /** Default: Standard. */
  readonly tier?: 'Standard' | 'Premium';
  /** Whether the server reads the stream of the messages table. Default: false. */
  readonly stream?: boolean;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PROGRAM = ['--import', 'tsx', '--expose-gc', '--import', './bench/memory-probe.ts'];

/** Runs `dynabus start`. Clients run here, so they do not share the server's thread. */
export async function startServerProcess(options: ServerOptions): Promise<ServerProcess> {
  const { engine, profileDirectory, endpoint, dataDirectory, tier = 'Standard' } = options;
  const profile =
    profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`];
  const choice = [
    ...(engine === undefined ? [] : ['--engine', engine]),
    ...(dataDirectory === undefined ? [] : ['--data', dataDirectory]),
    ...['--tier', tier.toLowerCase()],
    ...(options.stream ? ['--stream'] : []),
  ];
  const program = [
    ...profile,
    ...PROGRAM,
    'local/main.ts',
    'start',
    '--quiet',
    '--port',
    '0',
    ...choice,
  ];
  const child = spawn(process.execPath, program, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DYNABUS_KEY: undefined,
      ...(endpoint === undefined ? {} : { DYNAMODB_ENDPOINT: endpoint }),
    },
  });
  const ended = once(child, 'exit');
  const url = await Promise.race([
    child.stdout === null
      ? undefined
      : once(child.stdout.setEncoding('utf8'), 'data').then(([text]) => String(text).trim()),
    ended.then(() => undefined),
  ]);
  if (url === undefined) throw new Error('The server did not start.');
  return {
    port: Number(new URL(url).port),
    connectionString: connectionStringOf(url, PUBLIC_ROOT_KEY),
    connect: (connections) => new BenchClient(url, PUBLIC_ROOT_KEY, connections),
    memory: async () => {
      const answer = once(child, 'message');
      child.send('memory');
      const [usage] = await answer;
      return usage as NodeJS.MemoryUsage;
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The connection string for the official clients, for a server without TLS. */
export function connectionStringOf(url: string, key: string): string {
  return `Endpoint=sb://${new URL(url).host};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
}

/**
 * The engines to measure, one after the other: the chosen one, or all that can run on this machine; undefined = the one
 * at `DYNAMODB_ENDPOINT`.
 */
export function engineKinds(chosen: string | undefined): readonly (string | undefined)[] {
  const isElsewhere = process.env['DYNAMODB_ENDPOINT'] !== undefined;
  if (chosen !== undefined || isElsewhere) return [chosen];
  return ENGINE_KINDS.filter((kind) => !('missing' in findRecipe[kind]()));
}
