/**
 * What an error of a request means to a reader: records are lost, because it waited too long; the shard or the stream
 * is gone; AWS refuses, which trying again soon does not change; or it is for the moment.
 */
export type StreamFault = 'lost' | 'gone' | 'refused' | 'busy';

const LOST: ReadonlySet<string> = new Set([
  'ExpiredIteratorException',
  'TrimmedDataAccessException',
]);

/** Refusals with a status of the caller's fault that end by themselves. */
const BUSY: ReadonlySet<string> = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'ExpiredTokenException',
]);

/** A table with so many partitions that to read its stream would cost more than it saves. */
export class TooManyShardsError extends Error {
  override readonly name = 'TooManyShardsError';

  constructor(open: number, most: number) {
    super(`The stream has ${open} open shards; up to ${most} are read.`);
  }
}

/** Decides what an error means: of the SDK, or one that explains such an error, or `TooManyShardsError`. */
export function streamFaultOf(thrown: unknown): StreamFault {
  if (!(thrown instanceof Error)) return 'busy';
  if (thrown instanceof TooManyShardsError) return 'refused';
  const error = thrown.cause instanceof Error ? thrown.cause : thrown;
  const { name } = error;
  if (LOST.has(name)) return 'lost';
  if (name === 'ResourceNotFoundException') return 'gone';
  if (BUSY.has(name)) return 'busy';
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode ?? 0;
  return status >= 400 && status < 500 ? 'refused' : 'busy';
}
