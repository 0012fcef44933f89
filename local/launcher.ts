import { readFileSync } from 'node:fs';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';

/** A running process. */
export interface ProcessInfo {
  readonly parent: number;
  /** The id of its session's leader. A session holds what one terminal, or one `setsid`, has started. */
  readonly session: number;
  readonly arguments: readonly string[];
}

/** Finds a process by its id; undefined if it does not run or the system does not show it. */
export type FindProcess = (pid: number) => ProcessInfo | undefined;

/** The processes between npm and this one. */
interface Launcher {
  /** The parent of this process: npm, or the shell in which npm runs the script. */
  readonly parent: number;
  /** npm, if `parent` is that shell. */
  readonly aboveShell?: number;
}

type Self = Pick<NodeJS.Process, 'pid' | 'ppid' | 'env'>;

/** The command `dynabus` in a script, and no path or other word that contains its name. */
const COMMAND = /(?<![\w./-])dynabus(?![\w./-])/;

/**
 * Finds the npm that runs this process by `npx dynabus`, by a script that calls `dynabus`, or as the script `start` of
 * this repository; `gone` = it has ended already. Undefined for a server that was started without npm or by `setsid`:
 * such a server may outlive its parent.
 */
export function findLauncher(self: Self, find: FindProcess): Launcher | 'gone' | undefined {
  if (!isLaunchedByNpm(self.env)) return undefined;
  const session = find(self.pid)?.session;
  if (session === self.pid) return undefined;
  // A process whose parent has ended gets a new parent, from another session.
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

function isLaunchedByNpm(env: Self['env']): boolean {
  const { npm_lifecycle_event: script, npm_package_name: name, npm_lifecycle_script: line } = env;
  return (script === 'start' && name === 'dynabus') || COMMAND.test(line ?? '');
}

/**
 * Whether npm, or the shell in which it runs the script, has ended.
 * @param ppid the id of this process's parent now
 */
export function hasEnded({ parent, aboveShell }: Launcher, ppid: number, find: FindProcess) {
  if (ppid !== parent) return true;
  return aboveShell !== undefined && find(parent)?.parent !== aboveShell;
}

/**
 * Watches the npm that has started this process; undefined if npm has not. The promise resolves when npm has
 * ended. Signals are not enough: npm forwards only SIGINT and SIGTERM, and only to the shell if it runs the
 * script in one.
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

/** Reads `/proc`, which only Linux has. Elsewhere `process.ppid` is all that is known. */
const findProcess: FindProcess = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name is in parentheses and may hold any characters, so the fields after it count.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return { parent: Number(parent), session: Number(session), arguments: argv };
  } catch {
    return undefined;
  }
};
