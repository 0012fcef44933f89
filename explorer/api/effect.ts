import { RefusalError } from '../../client/client-errors.ts';

/** Refusals of a server that say that nothing was done: by the service, and by `dynabus explorer`. */
const NOTHING_DONE: ReadonlySet<string> = new Set(['ServiceBusy', 'NotSent']);

/** Whether a change that failed with this error may have been made: its answer was lost, or leaves it open. */
export function mayHaveTakenEffect(error: unknown): boolean {
  if (!(error instanceof RefusalError)) return true;
  return error.status >= 500 && !NOTHING_DONE.has(error.code);
}
