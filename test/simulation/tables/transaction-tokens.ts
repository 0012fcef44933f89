import { parameterMismatch, transactionInProgress } from './failures.ts';

/** The service remembers a token for so long. */
const KNOWN_MS = 10 * 60_000;

interface Known {
  readonly fingerprint: number;
  /** Epoch ms when it was carried out; undefined = it is under way. */
  doneAt: number | undefined;
}

/** The tokens of transactions that are under way or were carried out lately. */
export class TransactionTokens {
  readonly #known = new Map<string, Known>();
  /** When each was carried out, epoch ms, in that order. */
  readonly #done = new Map<string, number>();

  /**
   * Whether a transaction with this token was carried out already. Throws TransactionInProgressException
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

  /** A transaction with this token is under way from now on. */
  begin(token: string, fingerprint: number): void {
    this.#known.set(token, { fingerprint, doneAt: undefined });
  }

  /** The transaction with this token is carried out. */
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
