import { type SigningRule, uniqueRuleKey } from '../shared/auth/signing-rule.ts';
import { serviceBusy } from '../shared/domain/broker-error.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { type Rate, RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** Bounds the operations of each shared access rule on one task, over all protocols. */
export class RuleLimit {
  readonly #operations: RateLimit;
  readonly #now: () => number;
  #refused = 0;

  /** `now` = monotonic ms. */
  constructor(operations: Rate, now: () => number) {
    this.#operations = new RateLimit(operations, BUDGETS.rateBuckets);
    this.#now = now;
  }

  /** The number of operations refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  /** Counts an operation of a rule; throws ServiceBusy above its limit. */
  readonly countOperation = (rule: SigningRule): void => {
    if (this.#operations.take(uniqueRuleKey(rule), this.#now())) return;
    this.#refused++;
    throw serviceBusy(
      'Too many operations a second by this shared access rule. Wait a moment and try again, and send or receive several messages in one operation.',
    );
  };
}
