import { workOffAgenda } from './due-work.ts';
import { SweepLease } from './sweep-lease.ts';
import { RAISED_TRIES, type SweepParts, SweepRun } from './sweep-run.ts';
import { clearGraves } from './tombstones.ts';
import { walkEntities } from './walk.ts';

/**
 * One run of the sweep: what the agenda says is due, what was removed and has to be cleared, and
 * the walks over all entities. One run at a time holds the lease of the namespace. Every step stands on
 * conditions of its own, so even two runs at once do no harm, and a run that is cut off loses
 * nothing. Nothing a client can observe waits for it: receivers, peeks and counts see due and
 * exhausted messages as what they are. False = another run holds the lease, and this one did nothing.
 * Throws AggregateError where part of the run failed.
 */
export async function sweep(parts: SweepParts): Promise<boolean> {
  const { documents, namespace, clock, context } = parts;
  const lease = await SweepLease.take({ documents, namespace, clock, random: context.random });
  if (lease === undefined) return false;
  const run = new SweepRun(parts, lease);
  await run.attempt('The agenda was not worked off.', () => workOffAgenda(run), RAISED_TRIES);
  await run.attempt('What was removed was not cleared.', () => clearGraves(run));
  await walkEntities(run);
  await run.attempt('The lease was not released.', () => lease.release(), RAISED_TRIES);
  run.requireNoFailure();
  return true;
}
