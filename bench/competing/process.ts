import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Units } from '../../shared/storage/dynamodb/capacity-meter.ts';
import { BenchClient } from '../http-client.ts';

export const BENCH_TABLES = { entities: 'bench-entities', messages: 'bench-messages' } as const;
export const BENCH_KEY = 'bench';

/** A server process that shares its namespace with others. */
export interface CompetingProcess {
  /** Closed by `stop`. */
  readonly http: BenchClient;
  /** Returns the capacity units since the last call, after all background work is done. */
  units(): Promise<Units>;
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONNECTIONS = 4;

/** Starts a process over the engine at `endpoint`, whose tables must exist. */
export async function startCompetingProcess(
  endpoint: string,
  namespace: string,
): Promise<CompetingProcess> {
  const program = ['--import', 'tsx', 'bench/competing/server.ts', endpoint, namespace];
  const child = spawn(process.execPath, program, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const [url] = await Promise.race([
    once(child, 'message'),
    ended.then(() => {
      throw new Error('The server process did not start.');
    }),
  ]);
  const http = new BenchClient(String(url), BENCH_KEY, CONNECTIONS);
  return {
    http,
    units: async () => {
      const answer = once(child, 'message');
      child.send('units');
      const [units] = await answer;
      return units as Units;
    },
    stop: async () => {
      http.close();
      child.kill('SIGTERM');
      await ended;
    },
  };
}
