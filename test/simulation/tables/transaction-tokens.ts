import { parameterMismatch, transactionInProgress } from './failures.ts';

/** How long the service remembers a token, ms. */
const KNOWN_MS = 10 * 60_000;

interface Known {
  readonly fingerprint: number;
  /** When it was applied, epoch ms; undefined = it is in progress. */
  doneAt: number | undefined;
}

/** The tokens of transactions that are in progress or were applied recently. */
export class TransactionTokens {
  readonly #known = new Map<string, Known>();
  /** When each was applied, epoch ms, in that order. */
  readonly #done = new Map<string, number>();

  /**
   * Whether a transaction with this token was applied already. Throws TransactionInProgressException
   * and IdempotentParameterMismatchException.
   */
  isDone(token: string, fingerprint: number, now: number): boolean {
    this.#forget(now);
    const known = this.#known.get(token);
    if (known === undefined) return false;
    if (known.fingerprint !== fingerprint) throw parameterMismatch();
    if (known.doneAt === undefined) throw transactionInProgress();
    return true;
  }

  /** Records that a transaction with this token is in progress. */
  begin(token: string, fingerprint: number): void {
    this.#known.set(token, { fingerprint, doneAt: undefined });
  }

  /** Records that the transaction with this token is applied. */
  finish(token: string, now: number): void {
    const known = this.#known.get(token);
    if (known === undefined) return;
    known.doneAt = now;
    this.#done.set(token, now);
  }

  #forget(now: number): void {
    for (const [token, at] of this.#done) {
      if (now - at < KNOWN_MS) return;
      this.#done.delete(token);
      this.#known.delete(token);
    }
  }
}
