import { reportFault } from '../../shared/app/report-fault.ts';

/**
 * Starts a deployed function: returns the handler that `start` makes. What keeps it from starting, and what
 * the handler throws, is written to the log as every fault is, and thrown again: Lambda counts it as an error,
 * and its own line about it has other fields.
 */
export function startFunction<Event extends readonly unknown[], Result>(
  start: () => (...event: Event) => Promise<Result>,
  report: (error: unknown) => void = reportFault,
): (...event: Event) => Promise<Result> {
  const reportAndThrow = (error: unknown): never => {
    report(error);
    throw error;
  };
  let handler: (...event: Event) => Promise<Result>;
  try {
    handler = start();
  } catch (error) {
    return reportAndThrow(error);
  }
  return (...event) => handler(...event).catch(reportAndThrow);
}
