import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A line of a log; a line that is not JSON has the field `unstructured`. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The output of a process, and its exit code. */
export interface Written {
  readonly stdout: readonly LogLine[];
  readonly stderr: readonly LogLine[];
  readonly code: number;
}

/** By file and environment: several tests look at the lines of one run. */
const runs = new Map<string, Promise<Written>>();

/**
 * Runs a file in a process of its own, with only this environment. Resolves when it has ended, with the lines
 * that the real code has written.
 */
export function linesOf(
  file: string,
  { env = {} }: { env?: Readonly<Record<string, string>> } = {},
): Promise<Written> {
  const key = JSON.stringify([file, env]);
  const written = runs.get(key) ?? run(file, env);
  runs.set(key, written);
  return written;
}

function run(file: string, env: Readonly<Record<string, string>>): Promise<Written> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', 'tsx', file],
      { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '', ...env } },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code);
        resolve({ stdout: parsed(stdout), stderr: parsed(stderr), code });
      },
    );
  });
}

/** Fails unless a line has its time (ISO 8601) and this level. */
export function requireTimeAndLevel(line: LogLine, level: 'info' | 'error'): void {
  const time = String(line['time']);
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, JSON.stringify(line));
  assert.ok(Math.abs(Date.now() - Date.parse(time)) < 600_000, time);
  assert.equal(line['level'], level, JSON.stringify(line));
}

function parsed(text: string): readonly LogLine[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (line.startsWith('{') ? JSON.parse(line) : { unstructured: line }));
}
