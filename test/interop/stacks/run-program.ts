import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Ended } from './results.ts';

/** Of what a program prints, this much of the end is kept. */
const OUTPUT_CHARACTERS_MAX = 1_000_000;

/** What ends a program before its end. */
export interface Bounds {
  /** The whole run stops: the call throws. */
  readonly stop: AbortSignal;
  /** The program has hung. */
  readonly late: AbortSignal;
}

/**
 * Runs a program to its end; what it has started ends with it. What it writes to its error output is shown as it comes.
 * @param variables what it finds in its environment besides what is in that of this process
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  { stop, late }: Bounds,
): Promise<Ended> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...variables },
    // It leads a process group, by which all that it starts is ended.
    detached: true,
  });
  const isThere = once(child, 'spawn').then(
    () => true,
    () => false,
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_CHARACTERS_MAX);
  });
  if (!(await isThere)) return { end: 'not there', output };
  try {
    const signal = AbortSignal.any([stop, late]);
    const [code, by] = (await once(child, 'close', { signal })) as [number | null, string];
    return { end: code ?? by, output };
  } catch {
    stop.throwIfAborted();
    return { end: 'hung', output };
  } finally {
    endGroup(child.pid);
  }
}

/** Ends all processes of a group, if there are any. */
export function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing of it runs any more.
  }
}
