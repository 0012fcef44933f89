import type { Found } from '../ending.ts';
import type { History } from '../history.ts';
import type { World } from '../world.ts';
import { falseEmpties } from './empties.ts';
import { wrongCounts, wrongEnds } from './ends.ts';
import { falselyHeld, sharedLocks, sharedRemovals, sharedSessions } from './locks.ts';
import { falseRefusals, falseSettlements } from './settlements.ts';

/** Checks what must hold in every world; returns the violations. */
export function checkHistory(
  history: History,
  found: readonly Found[],
  world: World,
): readonly string[] {
  return [
    ...unexpectedFailures(history),
    ...sharedLocks(history),
    ...sharedRemovals(history),
    ...falseSettlements(history),
    ...falseRefusals(history),
    ...wrongEnds(history, found, world),
    ...wrongCounts(history, found, world),
    ...falseEmpties(history, world),
    ...sharedSessions(history),
    ...falselyHeld(history),
  ];
}

function unexpectedFailures(history: History): string[] {
  return history.calls.flatMap(({ actor, kind, outcome, code }) =>
    outcome === 'failed' ? [`${actor}: ${kind} failed with an unexpected error: ${code}`] : [],
  );
}
