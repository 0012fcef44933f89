import { BUDGETS } from '../../shared/domain/budgets.ts';
import { WorkTurns } from '../../shared/domain/work-turns.ts';

/** Turns of which each is for one piece of work, and ends when it is told to. */
export function singleTurns() {
  const ends: (() => void)[] = [];
  let ms = 0;
  const now = () => {
    ms += BUDGETS.turnMs;
    return ms;
  };
  const workTurns = new WorkTurns({ now, soon: (work) => void ends.push(work) });
  return { workTurns, end: () => ends.shift()?.() };
}
