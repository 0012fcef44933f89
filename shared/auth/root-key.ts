import type { AgeClock, Instant } from '../domain/age.ts';
import { serviceBusy } from '../domain/broker-error.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { RateLimit } from '../domain/budgets/rate-limit.ts';

/** The keys of RootManageSharedAccessKey. There are two, so that clients can migrate from one to the next. */
export interface RootKeys {
  readonly primary: string;
  /** The previous primary key; the same as `primary` if there was none. */
  readonly secondary: string;
}

/** Root keys that may change while the process runs. */
export interface RootKeySource {
  /**
   * The known keys, which are read again if they are old. Throws ServiceBusy if they are too old and cannot
   * be read again; rethrows the error of the read if none has succeeded yet.
   */
  current(): Promise<RootKeys>;
  /**
   * Looks for other keys than `tried`, which did not sign a token, since they may have changed since they
   * were read. Returns undefined if they are the same, or if the rate limit does not allow another read yet.
   * Concurrent calls share one read.
   */
  changedFrom(tried: RootKeys): Promise<RootKeys | undefined>;
}

/** The dependencies of `cacheRootKeys`. */
export interface RootKeyDependencies {
  /** Reads the keys from the secret. */
  readonly read: () => Promise<RootKeys>;
  readonly ages: AgeClock;
  /** Receives the error if the keys cannot be read again. */
  readonly reportFault: (error: unknown) => void;
}

interface Attempt {
  readonly began: Instant;
  /** Resolves when the read has succeeded or failed. */
  readonly ended: Promise<void>;
}

/**
 * Caches the root keys of a deployment. It reads them at the first use, again at an interval, and, within a
 * rate limit, for tokens that neither key has signed. While the keys cannot be read again, the last known
 * ones are used, but only for a bounded time: a revoked key must not stay valid forever. Times are in
 * `BUDGETS.rootKey`.
 */
export function cacheRootKeys({ read, ages, reportFault }: RootKeyDependencies): RootKeySource {
  const { readAgainMs, keptMs, retryMs, changes } = BUDGETS.rootKey;
  const changeLimit = new RateLimit(changes, 1);
  let known: { readonly keys: RootKeys; readonly readAt: Instant } | undefined;
  let regular: Attempt | undefined;
  /**
   * The running read for tokens that neither key has signed. Tokens that a key has signed never wait for it.
   */
  let extra: Attempt | undefined;

  const ageMs = () => (known === undefined ? Number.POSITIVE_INFINITY : ages.since(known.readAt));
  const isUsable = () => ageMs() < keptMs;

  async function readKeys(began: Instant): Promise<void> {
    try {
      const keys = await read();
      // A read that began earlier may end later.
      if (known === undefined || known.readAt.order < began.order) known = { keys, readAt: began };
    } catch (error) {
      if (known === undefined) {
        // Without any key no request can be served, so the next call tries again at once.
        regular = undefined;
        throw error;
      }
      reportFault(new Error('The root key cannot be read again.', { cause: error }));
    }
  }

  function begin(): Attempt {
    const began = ages.now();
    return { began, ended: readKeys(began) };
  }

  async function readForChange(): Promise<void> {
    if (extra === undefined) {
      if (!changeLimit.take('', ages.now().monotonicMs)) return;
      const attempt = begin();
      const ended = attempt.ended.finally(() => {
        extra = undefined;
      });
      extra = { ...attempt, ended };
    }
    await extra.ended;
  }

  return {
    async current() {
      const waitMs = known === undefined || isUsable() ? readAgainMs : retryMs;
      const isFresh = ageMs() < waitMs;
      if (!isFresh && (regular === undefined || ages.since(regular.began) >= waitMs)) {
        regular = begin();
      }
      if (!isFresh) await regular?.ended;
      if (known !== undefined && isUsable()) return known.keys;
      throw serviceBusy(
        'The service cannot read the key that tokens are checked with. Wait a moment and try again; the log of the service has the reason.',
      );
    },

    async changedFrom(tried) {
      if (known !== undefined && areSame(known.keys, tried)) await readForChange();
      return known === undefined || areSame(known.keys, tried) ? undefined : known.keys;
    },
  };
}

const areSame = (a: RootKeys, b: RootKeys): boolean =>
  a.primary === b.primary && a.secondary === b.secondary;
