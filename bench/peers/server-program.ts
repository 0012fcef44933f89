import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The user of the system as which a program runs; absent = the user of this process. */
export interface SystemUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** A temporary folder for the data of a server. */
export interface DataFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** A server that was started as a child of this process. */
export interface ServerProgram {
  /** Sends a signal and waits until the server has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Repeats `connect` until it succeeds. Throws if the server ends, or does not answer in a minute. */
  untilReady<Result>(connect: () => Promise<Result>): Promise<Result>;
}

const READY_MS_MAX = 60_000;
const RETRY_MS = 200;

/** Creates a folder that belongs to a user. */
export async function createDataFolder({ uid, gid }: SystemUser = {}): Promise<DataFolder> {
  const path = await mkdtemp(join(tmpdir(), 'dynabus-peer-'));
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Who a program runs as that refuses to run as root: the named user if this process is root's. */
export function insteadOfRoot(name: string): SystemUser {
  if (process.getuid?.() !== 0) return {};
  const id = (kind: string) => Number(execFileSync('id', [kind, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Starts a server. It ends with this process at the latest. */
export function startProgram(
  command: string,
  args: readonly string[],
  options: SystemUser & { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): ServerProgram {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const lastLines = lastLinesOf(child);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => {
    process.off('exit', kill);
  });
  // A command that cannot be started is noticed by `untilReady`.
  ended.catch(() => {});
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    stop: async (signal = 'SIGTERM') => {
      if (!hasEnded()) child.kill(signal);
      await ended;
    },
    untilReady: async (connect) => {
      const begun = performance.now();
      for (;;) {
        try {
          return await connect();
        } catch (error) {
          const isLate = performance.now() - begun > READY_MS_MAX;
          if (hasEnded() || isLate) {
            throw new Error(`${command} does not answer: ${lastLines()}`, { cause: error });
          }
          await delay(RETRY_MS);
        }
      }
    },
  };
}

const LAST_CHARACTERS = 2000;

function lastLinesOf(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-LAST_CHARACTERS);
    });
  }
  return () => text;
}
