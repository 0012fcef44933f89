import { type Log, logOf, logOfSession } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import { type Entity, forwardsMessages } from '../../domain/entities/entity.ts';
import { groupBy } from '../../domain/group-by.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import { activateDue } from '../scheduling/activate.ts';
import { logKey } from '../schema/message-keys.ts';
import { deadLetterLapsed } from '../settle/dead-letter-lapsed.ts';
import { type DueWork, subjectOf } from './due-work-index.ts';
import { removeIdle } from './idle-entities.ts';
import { type SweepDependencies, type SweepRun, TRIES_BEFORE_FAULT } from './sweep-run.ts';
import { unlessGone } from './unless-gone.ts';

/** Entries read at a time. */
const PAGE_ENTRIES = 200;
/** Logs worked on at a time. */
const WIDTH = 8;

/**
 * Does the due work, page by page, until none is left or its time is over. An entry whose work fails is postponed,
 * longer each time, so that it delays no other entry.
 */
export async function doDueWork(run: SweepRun): Promise<void> {
  const { dueWork, clock } = run.dependencies;
  const now = clock.now();
  let page: readonly DueWork[] = [];
  do {
    page = await dueWork.due(now, PAGE_ENTRIES, page.at(-1));
    // Entries of one log run one after the other, because at the same time they would conflict.
    const logs = groupBy(page, ({ log }) => logKey(log));
    await inParallel([...logs.values()], WIDTH, async (entries) => {
      for (const together of groupBy(entries, subjectOf).values()) {
        if (run.isOver('dueWork')) return;
        await doTogether(run, together);
      }
    });
  } while (page.length === PAGE_ENTRIES && !run.isOver('dueWork'));
}

/** Does the work of entries of one subject, due at several instants, once. */
async function doTogether(run: SweepRun, entries: readonly DueWork[]): Promise<void> {
  const { dependencies, lease } = run;
  const { dueWork } = dependencies;
  const attempts = Math.max(...entries.map((entry) => entry.attempts));
  const tries = attempts + 1;
  const what = `Attempt ${tries} of the due work for ${nameOf(entries)} failed.`;
  const work = async () => {
    // This work may have ended the run before. It is postponed first, so that it cannot end every later run.
    const isRisky = lease.isTakenOver || attempts > 0;
    const early = isRisky ? await postpone(run, entries) : undefined;
    try {
      await workFor(dependencies, entries[0]?.log);
    } catch (error) {
      if (early === undefined) {
        const unmoved = `${nameOf(entries)} was not postponed.`;
        await run.attempt(unmoved, () => postpone(run, entries), TRIES_BEFORE_FAULT);
      }
      throw error;
    }
    for (const entry of early ?? entries) await dueWork.remove(entry);
  };
  await run.attempt(what, work, tries);
}

/** Replaces several entries by one later entry. */
async function postpone(
  { dependencies: { dueWork } }: SweepRun,
  entries: readonly DueWork[],
): Promise<readonly DueWork[]> {
  const [most, ...others] = entries.toSorted((a, b) => b.attempts - a.attempts);
  const later = most === undefined ? [] : [await dueWork.postpone(most)];
  for (const other of others) await dueWork.remove(other);
  return later;
}

function nameOf([entry]: readonly DueWork[]): string {
  const { entityKey, partition, sessionId } = entry?.log ?? {};
  const session = sessionId === undefined ? '' : `, session '${sessionId}'`;
  return `'${entityKey}' (partition ${partition}${session})`;
}

async function workFor(dependencies: SweepDependencies, stored: Log | undefined): Promise<void> {
  if (stored === undefined) return;
  const { entityId, entityKey } = stored;
  const entity = await dependencies.entities.read(entityKey);
  if (entity?.id !== entityId) return;
  await unlessGone(dependencies.entities, entity, () => workIn(dependencies, entity, stored));
  // The work made messages available, or time has.
  if (entity.consumers !== undefined) await dependencies.context.consumers.wakeAll(entity);
}

async function workIn(
  dependencies: SweepDependencies,
  entity: Entity,
  { partition, generation, sessionId }: Log,
): Promise<void> {
  const { clock, context } = dependencies;
  // Also after a purge, which does not change whether the entity is checked.
  const mayBeIdle = partition === 0 && sessionId === undefined;
  if (mayBeIdle && (await removeIdle(dependencies, entity))) return;
  if (entity.generations.main !== generation) return;
  // Built from the entity as it is now, since it may have changed.
  const whole = logOf(entity, 'main', partition);
  const log = sessionId === undefined ? whole : logOfSession(whole, sessionId);
  // The due time that this process remembers may be older than the entry.
  context.dueTimes.forget(whole);
  await resumePublications(context, whole);
  // What forwards sends on its due messages itself, below.
  const keeps = entity.description.kind !== 'topic' && !forwardsMessages(entity);
  if (keeps) await activateDue(context, whole, clock.now());
  await deadLetterLapsedOf(dependencies, entity, log);
  await dependencies.forwardPending(entity, [log.partition]);
}

async function deadLetterLapsedOf(
  dependencies: SweepDependencies,
  entity: Entity,
  log: Log,
): Promise<void> {
  const { context, sessions } = dependencies;
  const { description } = entity;
  if (description.kind === 'topic') return;
  const policy = policyOf({ ...entity, description }, log.subQueue, log.partition);
  if (log.sessionId === undefined) {
    await deadLetterLapsed(context, log, policy);
    return;
  }
  const { holder } = await sessions.lockState(log);
  // The lock was renewed; look again when it ends.
  if (holder !== undefined) await context.addDueWork(log, holder.lockedUntil);
  else await sessions.deadLetterLapsedIn(log, policy);
}
