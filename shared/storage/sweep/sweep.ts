import type { Clock } from '../../domain/clock.ts';
import type { Entity } from '../../domain/entity.ts';
import type { Log } from '../../domain/log.ts';
import { policyOf } from '../../domain/log-policy.ts';
import { activateDue } from '../activate.ts';
import type { DynamoActivity } from '../activity.ts';
import type { Agenda } from '../agenda.ts';
import type { DocumentTable } from '../documents.ts';
import type { DynamoEntityStore } from '../entity-store.ts';
import { settleLapsed } from '../settle-lapsed.ts';
import type { StoreContext } from '../store-context.ts';
import { clearGraves } from './clear-graves.ts';
import { clearOrphans } from './clear-orphans.ts';
import { removeIdle } from './remove-idle.ts';

/** What a sweep works with. */
export interface SweepParts {
  readonly context: StoreContext;
  readonly store: DynamoEntityStore;
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly agenda: Agenda;
  readonly activity: DynamoActivity;
  readonly clock: Clock;
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
  await workOffAgenda(parts);
  await clearGraves(parts);
  for await (const entity of parts.store.everything()) {
    const isRemoved = await removeIdle(parts, entity);
    if (!isRemoved) await clearOrphans(parts, entity);
  }
}

async function settleLapsedOf({ context }: SweepParts, entity: Entity, log: Log): Promise<void> {
  const { description } = entity;
  if (description.kind === 'topic') return;
  const policy = policyOf({ ...entity, description }, log.subQueue, log.partition);
  await settleLapsed(context, log, policy);
}

async function workOffAgenda(parts: SweepParts): Promise<void> {
  const { agenda, clock, context, store } = parts;
  for (const entry of await agenda.due(clock.now(), ENTRIES_MAX)) {
    const entity = await store.read(entry.log.entityKey);
    const isCurrent =
      entity?.id === entry.log.entityId && entity.generations.main === entry.log.generation;
    if (isCurrent) {
      // What this process knows of due times may be older than the entry.
      context.dueTimes.forget(entry.log);
      await activateDue(context, entry.log, clock.now());
      await settleLapsedOf(parts, entity, entry.log);
    }
    await agenda.strike(entry);
  }
}
