import type { Scheduler } from '../domain/scheduler.ts';

/** The timers of this process. No other file of `shared`, `lambdas` and `amqp` sets timers. */
export const realScheduler: Scheduler = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return { cancel: () => clearTimeout(timer), unref: () => timer.unref() };
  },
  every: (ms, work) => {
    const timer = setInterval(work, ms);
    return { cancel: () => clearInterval(timer) };
  },
  soon: (work) => {
    setImmediate(work);
  },
};
