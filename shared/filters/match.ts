import type { RandomSource } from '../domain/clock.ts';
import type { Message } from '../domain/messages/message.ts';
import { text } from '../domain/messages/property-value.ts';
import { applyAction } from './action.ts';
import { evaluate } from './evaluation/evaluate.ts';
import { FilterError } from './filter-error.ts';
import type { FilterInput } from './filter-input.ts';
import type { Rule } from './rule.ts';

/** One copy of a message that a subscription gets. */
export interface MatchedCopy {
  /** The very message handed in where no action changed it. */
  readonly message: Message;
  /** The rule whose action made this copy; absent for the plain one. */
  readonly rule?: Rule;
}

/** A rule whose filter or action failed for a message. */
export interface RuleFailure {
  readonly rule: Rule;
  /** Its `typeName` is the dead-letter reason, its message the description (semantics T9). */
  readonly error: FilterError;
}

/** What the rules of one subscription make of one message. */
export interface RuleMatch {
  /** The plain copy first, then one for each rule with an action, in the order of the rules. */
  readonly copies: readonly MatchedCopy[];
  /** Whether these lead to the dead-letter queue is the subscription's choice. */
  readonly failures: readonly RuleFailure[];
}

/**
 * Decides which copies a subscription gets (semantics #101, #102): the rules without an action make
 * one plain copy together, and every matching rule with an action one of its own, changed by the
 * action and marked with the user property RuleName. No rules, no copies. A rule that fails is
 * reported and does not keep the others from matching; nothing is thrown. As with OR, a rule
 * without an action is not asked any more once another one made the plain copy.
 */
export function matchRules(
  rules: readonly Rule[],
  input: FilterInput,
  random: RandomSource,
): RuleMatch {
  const matching = matchInSteps(rules, input, random);
  for (;;) {
    const step = matching.next();
    if (step.done === true) return step.value;
  }
}

/** As `matchRules`, one rule a step: a topic may have thousands of them. */
export function* matchInSteps(
  rules: readonly Rule[],
  input: FilterInput,
  random: RandomSource,
): Generator<void, RuleMatch, void> {
  const changed: MatchedCopy[] = [];
  const failures: RuleFailure[] = [];
  let plain = false;
  for (const rule of rules) {
    // Once there is a plain copy, another rule without an action can add nothing to it.
    if (rule.action === undefined && plain) continue;
    try {
      if (evaluate(rule.filter, input, random) === true) {
        if (rule.action === undefined) plain = true;
        else changed.push(changedCopy(rule, applyAction(rule.action, input, random)));
      }
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      failures.push({ rule, error });
    }
    yield;
  }
  return { copies: plain ? [{ message: input.message }, ...changed] : changed, failures };
}

/** The broker owns RuleName: it replaces whatever the sender or the action put there. */
function changedCopy(rule: Rule, { message }: FilterInput): MatchedCopy {
  const properties = { ...message.properties, RuleName: text(rule.name) };
  return { message: { ...message, properties }, rule };
}
