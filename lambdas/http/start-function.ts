import { reportFault } from '../../shared/app/report-fault.ts';

/**
 * Starts a deployed function: returns the handler that `start` creates. Reports an error of `start` or of the
 * handler in the log format of all faults, because Lambda's own line has other fields, and throws it again,
 * so that Lambda counts it as an error.
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
