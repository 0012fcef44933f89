import type { Clock } from '../../domain/clock.ts';
import { type Entity, forwards, partitionNumbers } from '../../domain/entity.ts';
import { inSession, type Log, logOf } from '../../domain/log.ts';
import { policyOf } from '../../domain/log-policy.ts';
import { activateDue } from '../activate.ts';
import type { DynamoActivity } from '../activity.ts';
import type { Agenda, AgendaEntry } from '../agenda.ts';
import type { DocumentTable } from '../documents.ts';
import type { DynamoEntityStore } from '../entity-store.ts';
import { resumePublications } from '../publish-in-steps.ts';
import type { DynamoSessionStore } from '../sessions/session-store.ts';
import { settleLapsed } from '../settle-lapsed.ts';
import type { StoreContext } from '../store-context.ts';
import { clearGraves } from './clear-graves.ts';
import { clearOrphans } from './clear-orphans.ts';
import { removeIdle } from './remove-idle.ts';
import { isInTurn, MINUTES_OF_DAY, MINUTES_OF_HOUR } from './turns.ts';

/** What a sweep works with. */
export interface SweepParts {
  readonly context: StoreContext;
  readonly store: DynamoEntityStore;
  readonly sessions: DynamoSessionStore;
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly agenda: Agenda;
  readonly activity: DynamoActivity;
  readonly clock: Clock;
  /** Sends on what waits in some partitions of an entity that forwards, or of a topic. */
  readonly forwardPending: (entity: Entity, partitions: readonly number[]) => Promise<void>;
  /** Whether no other process serves this namespace, so that every use was seen here. */
  readonly soleProcess: boolean;
}

/** One run does at most this much of each kind of work; the next one, a minute later, goes on. */
const ENTRIES_MAX = 200;

/**
 * One run of the sweep: what the agenda says is due, what was removed and has to be cleared, and
 * what has become idle. Every step stands on conditions of its own, so two runs at once do no harm,
 * and a run that is cut off loses nothing. Nothing a client can observe waits for it: receivers,
 * peeks and counts see due and exhausted messages as what they are.
 */
export async function sweep(parts: SweepParts): Promise<void> {
  const failures: unknown[] = [];
  // What fails for one entity must not keep the others waiting; it is tried again in a minute.
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  };
  for (const entry of await parts.agenda.due(parts.clock.now(), ENTRIES_MAX)) {
    await attempt(() => workOff(parts, entry));
  }
  await attempt(() => clearGraves(parts));
  for await (const entity of parts.store.everything()) {
    await attempt(() => visit(parts, entity));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'The sweep failed in part.');
}

async function visit(parts: SweepParts, entity: Entity): Promise<void> {
  if (await removeIdle(parts, entity)) return;
  // What is sent on is sent on at once, or stands in the agenda; this finds what a crash left.
  if (forwards(entity) && isInTurn(parts, entity, MINUTES_OF_HOUR)) {
    await parts.forwardPending(entity, partitionNumbers(entity));
  }
  if (!isInTurn(parts, entity, MINUTES_OF_DAY)) return;
  await clearOrphans(parts, entity);
  await careForSessions(parts, entity);
}

async function careForSessions({ sessions }: SweepParts, entity: Entity): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic' || !description.requiresSession) return;
  for (const partition of partitionNumbers(entity)) {
    const policy = policyOf({ ...entity, description }, 'main', partition);
    await sessions.care(logOf(entity, 'main', partition), policy);
  }
}

async function settleLapsedOf(parts: SweepParts, entity: Entity, log: Log): Promise<void> {
  const { context, sessions } = parts;
  const { description } = entity;
  if (description.kind === 'topic') return;
  const policy = policyOf({ ...entity, description }, log.subQueue, log.partition);
  if (log.sessionId === undefined) {
    await settleLapsed(context, log, policy);
    return;
  }
  const { holder } = await sessions.rulesOf(log);
  // Renewed since: look again when it ends.
  if (holder !== undefined) await context.noteWork(log, holder.lockedUntil);
  else await sessions.settleLapsedIn(log, policy);
}

async function workOff(parts: SweepParts, entry: AgendaEntry): Promise<void> {
  const { agenda, clock, context, store } = parts;
  const { entityId, entityKey, partition, generation, sessionId } = entry.log;
  const entity = await store.read(entityKey);
  if (entity?.id === entityId && entity.generations.main === generation) {
    // Made anew: the entity may have been changed since.
    const whole = logOf(entity, 'main', partition);
    const log = sessionId === undefined ? whole : inSession(whole, sessionId);
    // What this process knows of due times may be older than the entry.
    context.dueTimes.forget(whole);
    await resumePublications(context, whole);
    if (entity.description.kind !== 'topic') await activateDue(context, whole, clock.now());
    await settleLapsedOf(parts, entity, log);
    await parts.forwardPending(entity, [log.partition]);
  }
  await agenda.strike(entry);
}
