import { logOf } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import { type Entity, forwards, partitionNumbers } from '../../domain/entities/entity.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import { noteEarliestDue } from '../scheduling/next-due.ts';
import { removeIdle } from './idle-entities.ts';
import { clearOrphans } from './orphans.ts';
import type { WalkName, WalkState } from './sweep-lease.ts';
import type { SweepParts, SweepRun } from './sweep-run.ts';

type Visit = (parts: SweepParts, entity: Entity) => Promise<unknown>;

/** What is done for all entities, one after the other. */
interface Walk {
  readonly name: WalkName;
  /** A walk begins so long after the last one began, if that has ended. */
  readonly everyMs: number;
  /** Which entities are visited. */
  readonly concerns: (entity: Entity) => boolean;
  /** Whether a visit may take long enough to end the run: then it is noted before, for 1 write unit. */
  readonly isLong: boolean;
  readonly visits: readonly Visit[];
}

const HOUR = 60 * 60_000;

const WALKS: readonly Walk[] = [
  {
    name: 'idle',
    everyMs: 0,
    concerns: () => true,
    isLong: false,
    visits: [removeIdle],
  },
  {
    // What is sent on is sent on at once, or stands in the agenda; this finds what a crash left.
    name: 'hourly',
    everyMs: HOUR,
    concerns: forwards,
    isLong: true,
    visits: [(parts, entity) => parts.forwardPending(entity, partitionNumbers(entity))],
  },
  {
    name: 'daily',
    everyMs: 24 * HOUR,
    concerns: () => true,
    isLong: true,
    visits: [resumeAll, noteDueTimes, clearOrphans, careForSessions],
  },
];

/**
 * Visits the entities by every walk that is due. A walk that does not reach the end in one run goes on in
 * the next one behind the entity it visited last. A run that dies during a long visit has noted the
 * entity before, so the next run passes over it.
 */
export async function walkEntities(run: SweepRun): Promise<void> {
  for (const walk of WALKS) {
    await run.attempt(`The ${walk.name} walk over the entities failed.`, () => goOn(run, walk));
  }
}

async function goOn(run: SweepRun, walk: Walk): Promise<void> {
  const { parts, lease } = run;
  const last = lease.stateOf(walk.name);
  if (last?.after === undefined && !isDue(walk, last, parts.clock.now())) return;
  const beganAt = last?.after === undefined ? parts.clock.now() : last.beganAt;
  for await (const entity of parts.store.everything(last?.after)) {
    if (run.isOver(walk.name)) return;
    const state = { beganAt, after: entity.key };
    if (walk.concerns(entity)) {
      if (walk.isLong && !(await lease.storeState(walk.name, state))) return;
      await visit(run, walk, entity);
    }
    lease.setState(walk.name, state);
  }
  lease.setState(walk.name, { beganAt });
}

function isDue({ everyMs }: Walk, last: WalkState | undefined, now: number): boolean {
  // Either way: a clock that was set back must not keep a walk from beginning.
  return last === undefined || Math.abs(now - last.beganAt) >= everyMs;
}

async function visit(run: SweepRun, { name, visits }: Walk, entity: Entity): Promise<void> {
  for (const work of visits) {
    await run.attempt(`The ${name} visit of '${entity.name}' failed.`, () =>
      work(run.parts, entity),
    );
  }
}

/** Finishes or gives up publications of which the sweep was never told. */
async function resumeAll({ context }: SweepParts, entity: Entity): Promise<void> {
  for (const partition of partitionNumbers(entity)) {
    await resumePublications(context, logOf(entity, 'main', partition));
  }
}

/** Finds scheduled messages that nobody expects. */
async function noteDueTimes({ context }: SweepParts, entity: Entity): Promise<void> {
  if (entity.description.kind === 'subscription') return;
  for (const partition of partitionNumbers(entity)) {
    await noteEarliestDue(context, logOf(entity, 'main', partition));
  }
}

async function careForSessions({ sessions }: SweepParts, entity: Entity): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic' || !description.requiresSession) return;
  for (const partition of partitionNumbers(entity)) {
    const policy = policyOf({ ...entity, description }, 'main', partition);
    await sessions.care(logOf(entity, 'main', partition), policy);
  }
}
