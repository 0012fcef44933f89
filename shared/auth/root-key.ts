import type { AgeClock, Instant } from '../domain/age.ts';
import { BrokerError } from '../domain/broker-error.ts';
import { BUDGETS } from '../domain/budgets/budgets.ts';
import { RateLimit } from '../domain/budgets/rate-limit.ts';

/** The keys of RootManageSharedAccessKey: two, so that clients can change from one to the next. */
export interface RootKeys {
  readonly primary: string;
  /** The one that was primary before; the same as `primary` where there was none. */
  readonly secondary: string;
}

/** Root keys that may be changed while the process runs. */
export interface RootKeySource {
  /**
   * The keys that this process knows, read again where they are old. Throws ServiceBusy where they are too
   * old and cannot be read, and what the read threw where none has succeeded.
   */
  current(): Promise<RootKeys>;
  /**
   * Other keys than those, with which a token was tried in vain: they may have been changed since they were
   * read. Undefined where there are none, or where they may not be read again yet. All who ask share one read.
   */
  changedFrom(tried: RootKeys): Promise<RootKeys | undefined>;
}

/** What root keys are read with, and who hears that they could not be read again. */
export interface RootKeyParts {
  /** Reads the keys from where they are kept. */
  readonly read: () => Promise<RootKeys>;
  readonly ages: AgeClock;
  readonly reportFault: (error: unknown) => void;
}

interface Attempt {
  readonly began: Instant;
  /** Resolves when it has ended, well or not. */
  readonly ended: Promise<void>;
}

/**
 * The root keys of a deployment: read when they are first needed, again from time to time, and, as often
 * as a limit allows, for tokens that neither has signed. While they cannot be read again the last ones are
 * used, for a bounded time: a key that was taken away must not be good for ever.
 */
export function rememberRootKeys({ read, ages, reportFault }: RootKeyParts): RootKeySource {
  const { readAgainMs, keptMs, retryMs, changes } = BUDGETS.rootKey;
  const changeLimit = new RateLimit(changes, 1);
  let known: { readonly keys: RootKeys; readonly readAt: Instant } | undefined;
  let regular: Attempt | undefined;
  /** The read under way for tokens that neither key has signed. Tokens that one has signed never wait for it. */
  let extra: Attempt | undefined;

  const ageMs = () => (known === undefined ? Number.POSITIVE_INFINITY : ages.since(known.readAt));
  const isUsable = () => ageMs() < keptMs;

  async function readKeys(began: Instant): Promise<void> {
    try {
      const keys = await read();
      // A read that began earlier may have been answered later.
      if (known === undefined || known.readAt.order < began.order) known = { keys, readAt: began };
    } catch (error) {
      if (known === undefined) {
        // Nothing is served without a key: the next call tries again.
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
      throw new BrokerError(
        'ServiceBusy',
        'The service cannot read the key that tokens are checked with. Wait a moment and try again; the log of the service has the reason.',
      );
    },

    async changedFrom(tried) {
      if (known !== undefined && isSame(known.keys, tried)) await readForChange();
      return known === undefined || isSame(known.keys, tried) ? undefined : known.keys;
    },
  };
}

const isSame = (a: RootKeys, b: RootKeys): boolean =>
  a.primary === b.primary && a.secondary === b.secondary;
