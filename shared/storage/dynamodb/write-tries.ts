import type { PutItemCommand } from '@aws-sdk/client-dynamodb';

/** An SDK command whose middleware can be extended. */
interface Watchable {
  readonly middlewareStack: PutItemCommand['middlewareStack'];
}

/**
 * Watches the tries of one write. The SDK repeats a request after a lost answer, so a write may take effect twice, or
 * be refused because it took effect before. A write that must not be repeated is sent `once`: after a try with an
 * unknown outcome the next try fails, so that no copy of it can restore what other processes have removed.
 */
export class WriteTries {
  readonly #once: boolean;
  #isUncertain = false;

  constructor({ once }: { readonly once: boolean }) {
    this.#once = once;
  }

  /** Whether an earlier try of this write may have taken effect. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** Watches the tries of a request; returns the request. */
  watch<Command extends object>(command: Command): Command {
    (command as unknown as Watchable).middlewareStack.add(
      (next) => async (args) => {
        if (this.#once && this.#isUncertain) throw new SentBefore();
        try {
          const answer = await next(args);
          // If the answer is lost after this step, the SDK sends the request again.
          this.#isUncertain = true;
          return answer;
        } catch (error) {
          this.#isUncertain ||= !isRefusal(error);
          throw error;
        }
      },
      // Outside of the step that parses answers, so that refusals are seen; inside of the SDK's retries.
      { step: 'deserialize', priority: 'high', name: 'watchTries', override: true },
    );
    return command;
  }
}

/** Thrown instead of repeating a write that must not be repeated. */
class SentBefore extends Error {
  constructor() {
    super('The answer to this write was lost; it is not repeated.');
    this.name = SENT_BEFORE;
  }
}

/** The name of the error of a write that was not repeated. */
export const SENT_BEFORE = 'SentBefore';

/** The error for a transaction that is still under way. */
const IN_PROGRESS = 'TransactionInProgressException';
/** The status of a timeout in front of the database, which may still do the work. */
const TIMED_OUT_STATUS = 408;

/** Whether a request certainly took no effect: it was refused, or never sent. */
export function isRefusal(error: unknown): boolean {
  const { name, syscall, $metadata } = error as NodeJS.ErrnoException & {
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  if (name === IN_PROGRESS || status === TIMED_OUT_STATUS) return false;
  return (status >= 400 && status < 500) || syscall === 'connect' || syscall === 'getaddrinfo';
}
