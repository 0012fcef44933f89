import { logOf } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import { type Entity, forwardsAnything, partitionNumbers } from '../../domain/entities/entity.ts';
import { DAY_MS, HOUR_MS } from '../../domain/units.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import { restoreNextDueTime } from '../scheduling/next-due.ts';
import { lookForConsumers } from './consumers.ts';
import { addIdleCheck } from './idle-entities.ts';
import { clearOrphans } from './orphans.ts';
import type { WalkName, WalkState } from './sweep-lease.ts';
import type { SweepDependencies, SweepRun } from './sweep-run.ts';
import { completeTopicList, listTopic } from './topic-list.ts';
import { unlessGone } from './unless-gone.ts';

type Visit = (dependencies: SweepDependencies, entity: Entity) => Promise<unknown>;

/** Work that is done for all entities, one after the other. */
interface Walk {
  readonly name: WalkName;
  /** Time from the start of one walk to the start of the next, ms. */
  readonly everyMs: number;
  /** Which entities are visited. */
  readonly concerns: (entity: Entity) => boolean;
  /** A short look at each entity, before the others and without progress of its own. */
  readonly glance?: Visit;
  /** What must succeed before the walk goes on to the next entity. */
  readonly require?: Visit;
  readonly visits: readonly Visit[];
  /** What is done once all entities were visited. */
  readonly atEnd?: (dependencies: SweepDependencies) => Promise<void>;
}

const WALKS: readonly Walk[] = [
  {
    // Messages are forwarded at once or by due work; this walk finds those that a crash left.
    name: 'hourly',
    everyMs: HOUR_MS,
    concerns: forwardsAnything,
    glance: lookForConsumers,
    visits: [
      (dependencies, entity) => dependencies.forwardPending(entity, partitionNumbers(entity)),
    ],
  },
  {
    // Finds what due work does not know: what a crash left, and entities of an earlier version.
    name: 'full',
    everyMs: DAY_MS,
    concerns: () => true,
    require: listTopic,
    atEnd: completeTopicList,
    visits: [addIdleCheck, resumeAll, addDueTimes, clearOrphans, maintainSessions],
  },
];

/**
 * Does every walk that is due. A walk that does not reach the end in one run continues in the next, after the entity
 * that it visited last. Before a visit the progress is stored, for 1 write unit, so that the next run skips an entity
 * whose visit ended this run.
 */
export async function walkEntities(run: SweepRun): Promise<void> {
  for (const walk of WALKS) {
    await run.attempt(`The ${walk.name} walk over the entities failed.`, () =>
      continueWalk(run, walk),
    );
  }
}

async function continueWalk(run: SweepRun, walk: Walk): Promise<void> {
  const { dependencies, lease } = run;
  const last = lease.stateOf(walk.name);
  if (last?.after === undefined && !isDue(walk, last, dependencies.clock.now())) return;
  const beganAt = last?.after === undefined ? dependencies.clock.now() : last.beganAt;
  for await (const entity of dependencies.entities.everything(last?.after)) {
    if (run.isOver(walk.name)) return;
    const state = { beganAt, after: entity.key };
    await glance(run, walk, entity);
    if (walk.concerns(entity)) {
      await walk.require?.(dependencies, entity);
      if (!(await lease.storeState(walk.name, state))) return;
      await visit(run, walk, entity);
    }
    lease.setState(walk.name, state);
  }
  await walk.atEnd?.(dependencies);
  lease.setState(walk.name, { beganAt });
}

function isDue({ everyMs }: Walk, last: WalkState | undefined, now: number): boolean {
  // In both directions, since a clock that was set back must not prevent a walk.
  return last === undefined || Math.abs(now - last.beganAt) >= everyMs;
}

async function glance(run: SweepRun, walk: Walk, entity: Entity): Promise<void> {
  await run.attempt(`The ${walk.name} look at '${entity.name}' failed.`, async () =>
    walk.glance?.(run.dependencies, entity),
  );
}

async function visit(run: SweepRun, { name, visits }: Walk, entity: Entity): Promise<void> {
  for (const work of visits) {
    await run.attempt(`The ${name} visit of '${entity.name}' failed.`, () =>
      unlessGone(run.dependencies.entities, entity, () => work(run.dependencies, entity)),
    );
  }
}

/** Completes or discards publications without due work. */
async function resumeAll({ context }: SweepDependencies, entity: Entity): Promise<void> {
  for (const partition of partitionNumbers(entity)) {
    await resumePublications(context, logOf(entity, 'main', partition));
  }
}

/** Finds scheduled messages without due work. */
async function addDueTimes({ context }: SweepDependencies, entity: Entity): Promise<void> {
  if (entity.description.kind === 'subscription') return;
  for (const partition of partitionNumbers(entity)) {
    await restoreNextDueTime(context, logOf(entity, 'main', partition));
  }
}

async function maintainSessions(dependencies: SweepDependencies, listed: Entity): Promise<void> {
  if (listed.description.kind === 'topic' || !listed.description.requiresSession) return;
  const entity = await asNow(dependencies, listed);
  if (entity === undefined || entity.description.kind === 'topic') return;
  const { description } = entity;
  for (const partition of partitionNumbers(entity)) {
    const policy = policyOf({ ...entity, description }, 'main', partition);
    await dependencies.sessions.maintain(logOf(entity, 'main', partition), policy);
  }
}

/**
 * A listed entity as it is now; undefined = it is gone. The list is older than a lease, and an update that was answered
 * decides which messages are exhausted. A read unit, two for a subscription.
 */
async function asNow(
  { entities }: SweepDependencies,
  { id, key }: Entity,
): Promise<Entity | undefined> {
  const current = await entities.read(key);
  return current?.id === id ? current : undefined;
}
