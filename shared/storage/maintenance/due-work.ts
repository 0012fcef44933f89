import { inSession, type Log, logOf } from '../../domain/blocks/log.ts';
import { policyOf } from '../../domain/blocks/log-policy.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { inParallel } from '../dynamodb/in-parallel.ts';
import { resumePublications } from '../fan-out/publish-in-steps.ts';
import { activateDue } from '../scheduling/activate.ts';
import { logKey } from '../schema/message-keys.ts';
import { deadLetterLapsed } from '../settle/dead-letter-lapsed.ts';
import { type AgendaEntry, subjectOf } from './due-work-index.ts';
import { RAISED_TRIES, type SweepParts, type SweepRun } from './sweep-run.ts';

/** So many entries are read at a time, */
const PAGE_ENTRIES = 200;
/** and so many logs worked on at a time. */
const WIDTH = 8;

/**
 * Does what the agenda says is due, page by page until nothing is left or the time for it is over. An entry
 * whose work fails is postponed, longer each time, so that it keeps no other waiting.
 */
export async function workOffAgenda(run: SweepRun): Promise<void> {
  const { agenda, clock } = run.parts;
  const now = clock.now();
  let page: readonly AgendaEntry[] = [];
  do {
    page = await agenda.due(now, PAGE_ENTRIES, page.at(-1));
    // Entries of one log one after the other: side by side they would be in each other's way.
    const logs = groupsOf(page, ({ log }) => logKey(log));
    await inParallel(logs, WIDTH, async (entries) => {
      for (const together of groupsOf(entries, subjectOf)) {
        if (run.isOver('agenda')) return;
        await workOff(run, together);
      }
    });
  } while (page.length === PAGE_ENTRIES && !run.isOver('agenda'));
}

function groupsOf(
  entries: readonly AgendaEntry[],
  nameOf: (entry: AgendaEntry) => string,
): readonly (readonly AgendaEntry[])[] {
  const groups = new Map<string, AgendaEntry[]>();
  for (const entry of entries) {
    const name = nameOf(entry);
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  return [...groups.values()];
}

/** Works off entries of one subject, which are due at several instants, as one. */
async function workOff(run: SweepRun, entries: readonly AgendaEntry[]): Promise<void> {
  const { parts, lease } = run;
  const { agenda } = parts;
  const attempts = Math.max(...entries.map((entry) => entry.attempts));
  const tries = attempts + 1;
  const what = `Attempt ${tries} to do what is due for ${nameOf(entries)} failed.`;
  const work = async () => {
    // A run may die of this work, as one before did, perhaps: then it must not come first in every later run.
    const isRisky = lease.isTakenOver || attempts > 0;
    const early = isRisky ? await postpone(run, entries) : undefined;
    try {
      await workFor(parts, entries[0]?.log);
    } catch (error) {
      if (early === undefined) {
        const unmoved = `${nameOf(entries)} was not postponed.`;
        await run.attempt(unmoved, () => postpone(run, entries), RAISED_TRIES);
      }
      throw error;
    }
    for (const entry of early ?? entries) await agenda.strike(entry);
  };
  await run.attempt(what, work, tries);
}

/** Puts one entry for later in place of several. */
async function postpone(
  { parts: { agenda } }: SweepRun,
  entries: readonly AgendaEntry[],
): Promise<readonly AgendaEntry[]> {
  const [most, ...others] = entries.toSorted((a, b) => b.attempts - a.attempts);
  const later = most === undefined ? [] : [await agenda.postpone(most)];
  for (const other of others) await agenda.strike(other);
  return later;
}

function nameOf([entry]: readonly AgendaEntry[]): string {
  const { entityKey, partition, sessionId } = entry?.log ?? {};
  const session = sessionId === undefined ? '' : `, session '${sessionId}'`;
  return `'${entityKey}' (partition ${partition}${session})`;
}

async function workFor(parts: SweepParts, noted: Log | undefined): Promise<void> {
  if (noted === undefined) return;
  const { clock, context, store } = parts;
  const { entityId, entityKey, partition, generation, sessionId } = noted;
  const entity = await store.read(entityKey);
  if (entity?.id !== entityId || entity.generations.main !== generation) return;
  // Made anew: the entity may have been changed since.
  const whole = logOf(entity, 'main', partition);
  const log = sessionId === undefined ? whole : inSession(whole, sessionId);
  // What this process knows of due times may be older than the entry.
  context.dueTimes.forget(whole);
  await resumePublications(context, whole);
  if (entity.description.kind !== 'topic') await activateDue(context, whole, clock.now());
  await deadLetterLapsedOf(parts, entity, log);
  await parts.forwardPending(entity, [log.partition]);
}

async function deadLetterLapsedOf(parts: SweepParts, entity: Entity, log: Log): Promise<void> {
  const { context, sessions } = parts;
  const { description } = entity;
  if (description.kind === 'topic') return;
  const policy = policyOf({ ...entity, description }, log.subQueue, log.partition);
  if (log.sessionId === undefined) {
    await deadLetterLapsed(context, log, policy);
    return;
  }
  const { holder } = await sessions.rulesOf(log);
  // Renewed since: look again when it ends.
  if (holder !== undefined) await context.noteWork(log, holder.lockedUntil);
  else await sessions.deadLetterLapsedIn(log, policy);
}
