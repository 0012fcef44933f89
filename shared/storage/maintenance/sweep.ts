import { doDueWork } from './due-work.ts';
import { SweepLease } from './sweep-lease.ts';
import { type SweepDependencies, SweepRun, TRIES_BEFORE_FAULT } from './sweep-run.ts';
import { clearTombstones } from './tombstones.ts';
import { walkEntities } from './walk.ts';

/**
 * One run of the sweep: due work, the messages of removed entities, and the walks over all entities. One run at a time
 * holds the lease of the namespace. Every step is a conditional write of its own, so two runs at once do no harm, and
 * a run that is cut off loses nothing. No receive waits for the sweep: it never hands out
 * expired or exhausted messages. Peeks and counts may show them until a receive or the sweep removes them. False =
 * another run holds the lease, and this one did nothing. Throws AggregateError if a part of the run failed.
 */
export async function sweep(dependencies: SweepDependencies): Promise<boolean> {
  const { documents, namespace, clock, context } = dependencies;
  const lease = await SweepLease.take({ documents, namespace, clock, random: context.random });
  if (lease === undefined) return false;
  const run = new SweepRun(dependencies, lease);
  await run.attempt('The due work was not done.', () => doDueWork(run), TRIES_BEFORE_FAULT);
  await run.attempt('The messages of removed entities were not deleted.', () =>
    clearTombstones(run),
  );
  await walkEntities(run);
  await run.attempt('The lease was not released.', () => lease.release(), TRIES_BEFORE_FAULT);
  run.requireNoFailure();
  return true;
}
