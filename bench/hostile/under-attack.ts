import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ServiceBusClient } from '@azure/service-bus';
import { startEngine } from '../../local/engine/engine.ts';
import { KINDS } from '../../test/hostile/search/kinds.ts';
import { createScene } from '../../test/hostile/search/scene.ts';
import { startTarget, type Target } from '../../test/hostile/search/target.ts';
import { administrationOf } from '../../test/interop/administration/admin-clients.ts';
import { plain } from '../../test/interop/gateway/gateway-clients.ts';
import { prepareTasks } from '../../test/interop/gateway/gateway-task.ts';
import type { Attacked, AttackerOptions } from './attacker.ts';
import { runSteadily, type Steady } from './steady-client.ts';

/** The measurements of an honest client, and the memory of the process in that time, bytes. */
export interface HostilePhase extends Steady {
  readonly heapMax: number;
  readonly residentMax: number;
}

/** A gateway without attacks, and right after that under attack. */
export interface UnderAttack {
  readonly quiet: HostilePhase;
  readonly attacked: HostilePhase;
  /** Why the process ended; undefined = it did not. */
  readonly end: string | undefined;
  readonly connections: number;
  /** The number of kinds of attack. */
  readonly kinds: number;
  readonly cases: Readonly<Record<string, number>>;
  readonly sentBytes: number;
}

export interface HostileTimes {
  readonly warmUpMs: number;
  readonly quietMs: number;
  readonly attackedMs: number;
}

export const RATE = 50;
export const HOSTILE_TIMES = {
  full: { warmUpMs: 8000, quietMs: 20_000, attackedMs: 60_000 },
  quick: { warmUpMs: 3000, quietMs: 5000, attackedMs: 15_000 },
} as const satisfies Record<string, HostileTimes>;

/**
 * The measurement uses the attacks of the first rows of the table in docs/security.md, those known when it was
 * first made, so that results stay comparable.
 */
const ROW_MAX = 11;
const ATTACKERS = 2;
const CONNECTIONS_MAX = 50;
const SAMPLE_MS = 250;
const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url));
const SEED = process.env['DYNABUS_HOSTILE_SEED'] ?? 'bench';

/** Measures one process without attacks and then under attack. */
export async function measureUnderAttack(
  kind: string | undefined,
  times: HostileTimes,
): Promise<UnderAttack> {
  const engine = await startEngine({ kind });
  process.env['DYNAMODB_ENDPOINT'] = engine.endpoint;
  const tasks = await prepareTasks();
  try {
    const target = await startTarget(tasks.program);
    return await measure(target, times).finally(() => target.stop());
  } finally {
    tasks.stop();
    await engine.stop();
  }
}

async function measure(target: Target, times: HostileTimes): Promise<UnderAttack> {
  const queue = 'honest';
  await administrationOf(plain(target.port)).createQueue(queue);
  const scene = await createScene(target.port, 'hostile');
  const client = new ServiceBusClient(plain(target.port), {
    retryOptions: { retryDelayInMs: 100 },
  });
  const phase = (ms: number) => measurePhase(target, client, queue, ms);
  console.log('An honest client alone');
  await phase(times.warmUpMs);
  const quiet = await phase(times.quietMs);
  const kinds = KINDS.filter(({ rows }) => rows.some((row) => row <= ROW_MAX)).map(
    ({ name }) => name,
  );
  console.log(`The same under ${kinds.length} kinds of attack at once`);
  const connectionsMax = Math.floor(CONNECTIONS_MAX / kinds.length);
  const attackers = Array.from({ length: ATTACKERS }, (_, own) =>
    startAttacker({
      ...{ scene, taskPort: target.taskPort, seed: SEED, connectionsMax },
      kinds: kinds.filter((_kind, place) => place % ATTACKERS === own),
    }),
  );
  await Promise.all(attackers.map(({ begun }) => begun));
  const attacked = await phase(times.attackedMs);
  const reported = await Promise.all(attackers.map((attacker) => attacker.stop()));
  if (target.end === undefined) await client.close();
  return {
    ...{ quiet, attacked, end: target.end, connections: connectionsMax * kinds.length },
    kinds: kinds.length,
    cases: Object.assign({}, ...reported.map(({ cases }) => cases)) as Record<string, number>,
    sentBytes: reported.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
  };
}

async function measurePhase(
  target: Target,
  client: ServiceBusClient,
  queue: string,
  ms: number,
): Promise<HostilePhase> {
  const most = { heapMax: 0, residentMax: 0 };
  const sampling = setInterval(() => {
    target.memory(false).then(
      ({ heapUsed, external, residentMax }) => {
        most.heapMax = Math.max(most.heapMax, heapUsed + external);
        most.residentMax = Math.max(most.residentMax, residentMax);
      },
      () => clearInterval(sampling),
    );
  }, SAMPLE_MS);
  const isOver = () => target.end !== undefined;
  const steady = await runSteadily(client, queue, { rate: RATE, ms, isOver });
  clearInterval(sampling);
  return { ...steady, ...most };
}

function startAttacker(options: AttackerOptions) {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', ATTACKER, JSON.stringify(options)],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  let last: Attacked = { cases: {}, sentBytes: 0 };
  child.on('message', (reported: Attacked) => {
    last = reported;
  });
  const ended = once(child, 'exit');
  const begun = Promise.race([once(child, 'message'), ended]);
  return {
    begun,
    stop: async (): Promise<Attacked> => {
      child.kill('SIGKILL');
      await ended;
      return last;
    },
  };
}
