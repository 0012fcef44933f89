import type { Scheduler, Timer } from '../../../shared/domain/scheduler.ts';

/** Calls `work` every `ms`, with a scheduler function that calls once. */
export function repeat(after: Scheduler['after'], ms: number, work: () => void): Timer {
  const again = () => {
    timer = after(ms, again);
    work();
  };
  let timer = after(ms, again);
  return { cancel: () => timer.cancel() };
}
