import type { ProcessSpec } from '../machines/process.ts';
import type { Random } from '../machines/random.ts';
import { ActionDrawer } from './draw-actions.ts';
import type { EntitySpec, Step } from './scenario.ts';

interface Drawing {
  readonly processes: readonly ProcessSpec[];
  readonly entities: readonly EntitySpec[];
  readonly durationMs: number;
}

/** Draws the steps of all clients, which use few entities, so that they often hold messages to settle. */
export function drawSteps(
  random: Random,
  { processes, entities, durationMs }: Drawing,
): readonly Step[] {
  // A crowd meets often in one process, so that calls there share writes.
  const isCrowd = random.chance(0.3);
  const clients = isCrowd ? random.between(6, 16) : random.between(1, 6);
  const steps = random.pick([20, 80, 200, 400]);
  const drawer = new ActionDrawer(random, { processes, entities });
  const moments = drawMoments(random, entities, durationMs);
  const servers = processes.filter(({ kind }) => kind === 'server');
  const canShare = isCrowd && servers.length > 0;
  const all: Step[] = [];
  while (all.length < steps) {
    if (canShare && random.chance(0.3)) {
      const at = random.pick(moments) + random.below(8);
      const server = random.pick(servers).name;
      // Some of its calls go over another process, which takes messages that the server's group wants.
      const processOf = () => (random.chance(0.8) ? server : random.pick(processes).name);
      all.push(...drawBurst(random, { at, processOf, clients, drawer }));
      continue;
    }
    const client = `c${random.below(clients)}`;
    all.push({
      at: random.chance(isCrowd ? 0.9 : 0.5)
        ? random.pick(moments) + random.below(isCrowd ? 8 : 40)
        : random.below(durationMs),
      client,
      process: random.pick(processes).name,
      action: drawer.draw(),
    });
  }
  return all.sort((a, b) => a.at - b.at);
}

const BURST = { least: 3, most: 6 } as const;

/** Where a burst happens, and who acts in it. */
interface BurstDrawing {
  readonly at: number;
  /** Draws the process of one call. */
  readonly processOf: () => string;
  readonly clients: number;
  readonly drawer: ActionDrawer;
}

/** Actions of one kind, by several clients at the same time. */
function drawBurst(
  random: Random,
  { at, processOf, clients, drawer }: BurstDrawing,
): readonly Step[] {
  const kind = random.weighted({ receive: 3, send: 2, settle: 1 });
  const first = random.below(clients);
  return Array.from({ length: random.between(BURST.least, BURST.most) }, (_, i) => ({
    at,
    client: `c${(first + i) % clients}`,
    process: processOf(),
    action: drawer.draw(kind),
  }));
}

/** Instants at which several clients act at once: the start, random ones, and ends of locks taken then. */
function drawMoments(
  random: Random,
  entities: readonly EntitySpec[],
  durationMs: number,
): readonly number[] {
  const locks = entities.flatMap((entity) => (entity.kind === 'topic' ? [] : [entity.lockMs]));
  const moments = [0];
  for (let i = 0; i < MOMENTS; i++) {
    const isLockEnd = random.chance(0.5);
    moments.push(isLockEnd ? random.pick(moments) + random.pick(locks) : random.below(durationMs));
  }
  return moments.filter((moment) => moment < durationMs);
}

const MOMENTS = 12;
