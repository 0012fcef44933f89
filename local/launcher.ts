import { readFileSync } from 'node:fs';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';

/** What is known of a process that runs. */
export interface ProcessInfo {
  readonly parent: number;
  /** The process that leads its session: all that one terminal, or one `setsid`, has started. */
  readonly session: number;
  readonly arguments: readonly string[];
}

/** Finds a process by its id; undefined where it does not run, or the system does not tell. */
export type FindProcess = (pid: number) => ProcessInfo | undefined;

/** The processes through which npm has started this one. */
interface Launcher {
  readonly parent: number;
  /** npm itself, where `parent` is the shell through which it runs its scripts. */
  readonly aboveShell?: number;
}

/** This process. */
type Self = Pick<NodeJS.Process, 'pid' | 'ppid' | 'env'>;

/**
 * The npm that runs this process as the script `start`. `gone` = it has ended already. Undefined where
 * there is none: whoever starts the server without npm, or by `setsid`, may end before it.
 */
export function findLauncher(self: Self, find: FindProcess): Launcher | 'gone' | undefined {
  const { npm_lifecycle_event: script, npm_package_name: name } = self.env;
  if (script !== 'start' || name !== 'dynabus') return undefined;
  const session = find(self.pid)?.session;
  if (session === self.pid) return undefined;
  // A process whose parent has ended gets another one, of another session.
  const isElsewhere = (pid: number) => {
    const other = find(pid)?.session;
    return session !== undefined && other !== undefined && other !== session;
  };
  const parent = self.ppid;
  if (isElsewhere(parent)) return 'gone';
  const above = find(parent);
  if (above?.arguments[1] !== '-c') return { parent };
  return isElsewhere(above.parent) ? 'gone' : { parent, aboveShell: above.parent };
}

/** Whether one of the processes through which npm has started this one has ended. */
export function hasEnded({ parent, aboveShell }: Launcher, ppid: number, find: FindProcess) {
  if (ppid !== parent) return true;
  return aboveShell !== undefined && find(parent)?.parent !== aboveShell;
}

/**
 * Watches the npm that has started this process; undefined where none has. The promise resolves once it
 * has ended. It passes on SIGINT and SIGTERM only, and to the shell of its script where there is one.
 */
export function watchLauncher(): Promise<void> | undefined {
  const launcher = findLauncher(process, findProcess);
  if (launcher === undefined) return undefined;
  if (launcher === 'gone') return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!hasEnded(launcher, process.ppid, findProcess)) return;
      clearInterval(timer);
      resolve();
    }, BUDGETS.localServer.launcherLookMs);
    timer.unref();
  });
}

/** As Linux tells; elsewhere nothing is known but this process's own parent. */
const findProcess: FindProcess = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses, and may hold anything.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return { parent: Number(parent), session: Number(session), arguments: words };
  } catch {
    return undefined;
  }
};
