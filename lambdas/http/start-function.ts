import { reportFault } from './report-fault.ts';

/**
 * Starts a deployed function: returns the handler that `start` makes. What keeps it from starting, and what
 * the handler throws, is written to the log as every fault is, and thrown again: Lambda counts it as an error,
 * and its own line about it has other fields.
 */
export function startFunction<Event extends readonly unknown[], Result>(
  start: () => (...event: Event) => Promise<Result>,
  report: (error: unknown) => void = reportFault,
): (...event: Event) => Promise<Result> {
  const handler = reporting(start, report);
  return async (...event) => {
    try {
      return await handler(...event);
    } catch (error) {
      report(error);
      throw error;
    }
  };
}

function reporting<Result>(work: () => Result, report: (error: unknown) => void): Result {
  try {
    return work();
  } catch (error) {
    report(error);
    throw error;
  }
}
