import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A line of a log; what is no JSON is `unstructured`. */
export type LogLine = Readonly<Record<string, unknown>>;

/** What a process wrote, and how it ended. */
export interface Written {
  readonly stdout: readonly LogLine[];
  readonly stderr: readonly LogLine[];
  readonly code: number;
}

/**
 * Runs one of our files in a process of its own, with no other environment than this, and resolves once it
 * has ended: the lines are those that the real code writes.
 */
export function linesOf(
  file: string,
  {
    args = [],
    env = {},
  }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<Written> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', 'tsx', file, ...args],
      { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '', ...env } },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code);
        resolve({ stdout: parsed(stdout), stderr: parsed(stderr), code });
      },
    );
  });
}

/** Fails unless a line tells when it was written, as ISO 8601, and how much it matters. */
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
