import { keyOfRule, type ProvedRule } from '../shared/auth/proved-rule.ts';
import { BrokerError } from '../shared/domain/broker-error.ts';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { type Rate, RateLimit } from '../shared/domain/budgets/rate-limit.ts';

/** Bounds what each rule has a task do, whichever way its clients connect. */
export class RuleLimit {
  readonly #operations: RateLimit;
  readonly #now: () => number;
  #refused = 0;

  /** `now` = monotonic ms. */
  constructor(operations: Rate, now: () => number) {
    this.#operations = new RateLimit(operations, BUDGETS.rateBuckets);
    this.#now = now;
  }

  /** Operations that were refused since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  /** Counts an operation; throws ServiceBusy beyond what the rule may do. */
  readonly admit = (rule: ProvedRule): void => {
    if (this.#operations.take(keyOfRule(rule), this.#now())) return;
    this.#refused++;
    throw new BrokerError(
      'ServiceBusy',
      'Operations by this shared access rule come faster than they are taken. Wait a moment and try again; send and receive many messages with each.',
    );
  };
}
