import { type BrokerError, messageSizeExceeded, noMemoryFor } from '../../domain/broker-error.ts';
import { BUDGETS } from '../../domain/budgets/budgets.ts';
import type { BrokerDependencies } from '../dependencies.ts';

/** Runs an operation that routes messages, and counts its copies until it ends. */
export async function withCopyAccount<Result>(
  dependencies: BrokerDependencies,
  work: (dependencies: BrokerDependencies) => Promise<Result>,
): Promise<Result> {
  const { memory } = dependencies;
  const most = memory.limit * BUDGETS.request.copiesShareOfProcess;
  const share = memory.open(most, () => {});
  // The operation cannot be stopped half way, since its outcome would be unknown.
  share.pin();
  let made = 0;
  const hold = (copies: number) => {
    const bytes = (made + copies) * BUDGETS.weights.copyBytes;
    const more = bytes - share.held;
    if (more > 0 && !share.hold(more))
      throw bytes > most ? tooManyCopies() : noMemoryFor('copies of messages');
    made += copies;
  };
  const discard = (copies: number) => {
    made -= copies;
  };
  try {
    return await work({ ...dependencies, copies: { hold, discard } });
  } finally {
    share.close();
  }
}

/**
 * Runs one attempt of an operation that routes messages. After a failure, the next attempt uses the same room for its
 * copies, so an operation counts once, however often it is tried.
 */
export async function countingAttempt<Result>(
  dependencies: BrokerDependencies,
  attempt: (dependencies: BrokerDependencies) => Promise<Result>,
): Promise<Result> {
  const { copies } = dependencies;
  if (copies === undefined) return await attempt(dependencies);
  let made = 0;
  const hold = (more: number) => {
    copies.hold(more);
    made += more;
  };
  const discard = (fewer: number) => {
    copies.discard(fewer);
    made -= fewer;
  };
  try {
    return await attempt({ ...dependencies, copies: { hold, discard } });
  } catch (error) {
    discard(made);
    throw error;
  }
}

/**
 * The refusal of too many copies. `most` = the limit for one operation; absent = this process has no memory for more.
 */
export function tooManyCopies(most?: number): BrokerError {
  const bound =
    most === undefined ? 'more copies than the service has memory for' : `more than ${most} copies`;
  return messageSizeExceeded(
    `The batch makes ${bound} for all subscriptions together, which is too much at once. Send fewer messages in a batch.`,
  );
}
