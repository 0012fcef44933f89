import type { AgeClock, Instant } from '../../shared/domain/age.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';

/** What a root key is read with, and who hears that it could not be read again. */
export interface RootKeyParts {
  /** Reads the key from where it is kept. */
  readonly read: () => Promise<string>;
  readonly ages: AgeClock;
  readonly reportFault: (error: unknown) => void;
}

interface Attempt {
  readonly began: Instant;
  /** Resolves when it has ended, well or not. */
  readonly ended: Promise<void>;
}

/**
 * The root key of a deployment: read when it is first needed, and again from time to time. While it
 * cannot be read again the last one is used, for a bounded time: a key that was taken away must not
 * be good for ever. The function that is returned throws ServiceBusy after that time, and what the
 * read threw where there was none that succeeded.
 */
export function rememberRootKey({ read, ages, reportFault }: RootKeyParts): () => Promise<string> {
  const { readAgainMs, keptMs, retryMs } = BUDGETS.rootKey;
  let known: { readonly key: string; readonly readAt: Instant } | undefined;
  let attempt: Attempt | undefined;

  const isUsable = () => known !== undefined && ages.since(known.readAt) < keptMs;

  async function readAgain(began: Instant): Promise<void> {
    try {
      known = { key: await read(), readAt: began };
    } catch (error) {
      if (known === undefined) {
        // Nothing is served without a key: the next call tries again.
        attempt = undefined;
        throw error;
      }
      reportFault(new Error('The root key cannot be read again.', { cause: error }));
    }
  }

  return async () => {
    const waitMs = known === undefined || isUsable() ? readAgainMs : retryMs;
    if (attempt === undefined || ages.since(attempt.began) >= waitMs) {
      const began = ages.now();
      attempt = { began, ended: readAgain(began) };
    }
    await attempt.ended;
    if (known !== undefined && isUsable()) return known.key;
    throw new BrokerError(
      'ServiceBusy',
      'The service cannot read the key that tokens are checked with. Wait a moment and try again; the log of the service has the reason.',
    );
  };
}
