import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ROOT } from '../architecture/repository.ts';

/** What a run of the simulation came to. */
export type Outcome =
  | {
      readonly kind: 'found';
      readonly check: string;
      readonly sentence: string;
      readonly afterMs: number;
    }
  | { readonly kind: 'survived' }
  /** The run says nothing: it failed by itself, or never ended. */
  | { readonly kind: 'broken'; readonly why: string };

export interface Hunt {
  readonly seconds: number;
  readonly seed: number;
  /** Gets every line that the simulation prints. */
  readonly onLine?: (line: string) => void;
}

/** The line with which the simulation tells of a promise that was not kept. */
const VIOLATION = /^VIOLATION (?<check>[^:]+): (?<sentence>.*)$/;
/** It may say before that it has found something, and then take a while to print it. */
const FOUND = /^(?:Found after|VIOLATION) /;
/** After this long beyond its time a run that has not ended is ended, ms. */
const GRACE_MS = 60_000;
/** So many lines of a run that failed are shown. */
const LAST_LINES = 5;

/** Runs a bundle of the simulation in a process of its own until it has found something. */
export async function hunt(bundle: string, { seconds, seed, onLine }: Hunt): Promise<Outcome> {
  const startedAt = performance.now();
  // That something is found is all that counts: nothing is made smaller.
  const args = [bundle, '--seconds', `${seconds}`, '--seed', `${seed}`, '--shrink', '0'];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = setTimeout(() => child.kill('SIGKILL'), seconds * 1000 + GRACE_MS);
  const last: string[] = [];
  let found: Outcome | undefined;
  let afterMs: number | undefined;
  const read = (line: string) => {
    onLine?.(line);
    last.push(line);
    if (last.length > LAST_LINES) last.shift();
    if (FOUND.test(line)) afterMs ??= performance.now() - startedAt;
    const { check, sentence } = VIOLATION.exec(line)?.groups ?? {};
    if (check === undefined || sentence === undefined || afterMs === undefined) return;
    found ??= { kind: 'found', check, sentence, afterMs };
  };
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', read);
  const ended = await new Promise<string | number>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'no exit code'));
  });
  clearTimeout(stop);
  if (found !== undefined) return found;
  if (ended === 0) return { kind: 'survived' };
  return { kind: 'broken', why: [`ended with ${ended}`, ...last].join(' | ') };
}
