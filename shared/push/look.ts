import type { Current } from './current-consumer.ts';
import type { Ending, Tenure } from './tenure.ts';

/**
 * Looks for work and starts it, again and again, until none is left or the worker must end. Tasks may still be under
 * way then. `claim` has a slot: it starts a task with it, or returns false if it found nothing; `look` ends its wait.
 * Throws what `claim` throws.
 */
export async function lookUntilEnd(
  tenure: Tenure,
  claim: (current: Current, look: AbortSignal) => Promise<boolean>,
): Promise<Ending> {
  for (;;) {
    const current = await tenure.untilLook();
    if (typeof current === 'string') return current;
    const look = tenure.beginLook(current);
    let isStarted = false;
    try {
      isStarted = await claim(current, look);
    } finally {
      if (!isStarted) tenure.freeSlot();
    }
    if (!isStarted && !look.aborted && tenure.isIdle()) return 'idle';
  }
}
