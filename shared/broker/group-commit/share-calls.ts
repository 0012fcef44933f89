import type { Scheduler } from '../../domain/scheduler.ts';
import { type GroupLimits, Lanes } from './lanes.ts';

/**
 * Makes calls that arrive together one piece of work for at most `most` requests, as groups of `Lanes`. A failure is
 * that of each of its calls.
 */
export function shareCalls<Request, Outcome>(
  scheduler: Scheduler,
  most: number,
  work: (requests: readonly Request[]) => Promise<(request: Request) => Outcome>,
): (request: Request) => Promise<Outcome> {
  const limits: GroupLimits = { calls: most, messages: most, bytes: Number.POSITIVE_INFINITY };
  const lanes = new Lanes<Request, Outcome>(scheduler, {
    limits,
    patience: 1,
    carryOut: async (calls) => {
      try {
        const outcomeOf = await work(calls.map(({ request }) => request));
        for (const call of calls) call.resolve(outcomeOf(call.request));
      } catch (error) {
        for (const call of calls) call.reject(error);
      }
    },
  });
  return (request) => lanes.join('', request, { messages: 1, bytes: 0 });
}
