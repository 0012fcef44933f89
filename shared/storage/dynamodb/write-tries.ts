import type { PutItemCommand } from '@aws-sdk/client-dynamodb';

/** What carries a request, with room for a look at each of its tries. */
interface Watchable {
  readonly middlewareStack: PutItemCommand['middlewareStack'];
}

/**
 * Watches the tries of one write. The SDK repeats a request whose answer it did not hear, so a write may
 * be carried out twice, or be refused because it was carried out before. A write that is not safe to
 * repeat is sent `once`: after a try whose outcome is unknown the next one fails, so that no copy of it
 * can be carried out after others have removed what it brought.
 */
export class WriteTries {
  readonly #once: boolean;
  #mayHaveHappened = false;

  constructor({ once }: { readonly once: boolean }) {
    this.#once = once;
  }

  /** Whether an earlier try of this write may have been carried out. */
  get mayHaveHappened(): boolean {
    return this.#mayHaveHappened;
  }

  /** Has the tries of this request watched; returns the request. */
  watch<Command extends object>(command: Command): Command {
    (command as unknown as Watchable).middlewareStack.add(
      (next) => async (args) => {
        if (this.#once && this.#mayHaveHappened) throw new SentBefore();
        try {
          const answer = await next(args);
          // Where this is not heard, the SDK asks again.
          this.#mayHaveHappened = true;
          return answer;
        } catch (error) {
          this.#mayHaveHappened ||= !isRefusal(error);
          throw error;
        }
      },
      // Outside of what reads answers, so that refusals are seen; inside of the SDK's retries.
      { step: 'deserialize', priority: 'high', name: 'watchTries', override: true },
    );
    return command;
  }
}

/** A write that must not be repeated was about to be. */
class SentBefore extends Error {
  constructor() {
    super('The answer to this write was lost; it is not repeated.');
    this.name = SENT_BEFORE;
  }
}

/** The name of the error of a write that was not repeated. */
export const SENT_BEFORE = 'SentBefore';

/** Refused while the same transaction is still under way. */
const IN_PROGRESS = 'TransactionInProgressException';
/** Whoever answered so gave up waiting; the work may be done all the same. */
const TIMED_OUT_STATUS = 408;

/** Whether a request was surely not carried out: it was refused, or never left. */
export function isRefusal(error: unknown): boolean {
  const { name, syscall, $metadata } = error as NodeJS.ErrnoException & {
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  if (name === IN_PROGRESS || status === TIMED_OUT_STATUS) return false;
  return (status >= 400 && status < 500) || syscall === 'connect' || syscall === 'getaddrinfo';
}
