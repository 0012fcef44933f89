import type { RandomSource } from '../domain/clock.ts';
import type { Message } from '../domain/messages/message.ts';
import { text } from '../domain/messages/property-value.ts';
import { applyAction } from './action.ts';
import { evaluate } from './evaluation/evaluate.ts';
import { FilterError } from './filter-error.ts';
import type { FilterInput } from './filter-input.ts';
import type { Rule } from './rule.ts';

/** One copy of a message for a subscription. */
export interface MatchedCopy {
  /** The copy; the same object as the input's message if no action changed it. */
  readonly message: Message;
  /** The rule whose action made this copy; absent for the plain copy. */
  readonly rule?: Rule;
}

/** A rule whose filter or action failed for a message. */
export interface RuleFailure {
  readonly rule: Rule;
  /** Its `typeName` is the dead-letter reason, and its message the description (semantics T9). */
  readonly error: FilterError;
}

/** The result of the rules of one subscription for one message. */
export interface RuleMatch {
  /** The plain copy, if any, then one for each matching rule with an action, in the order of the rules. */
  readonly copies: readonly MatchedCopy[];
  /** The rules that failed. The subscription's settings decide whether they lead to the dead-letter queue. */
  readonly failures: readonly RuleFailure[];
}

/**
 * Decides which copies of a message a subscription gets (semantics #101, #102). All matching rules without an
 * action make one plain copy together. Each matching rule with an action makes a copy of its own, which the
 * action changes and the user property RuleName marks. Without rules there are no copies (semantics #103). A rule that
 * fails is reported in `failures`, and the other rules still match (semantics T10); FilterError is not thrown. Once
 * there is a plain copy, further rules without an action are not evaluated, as with OR.
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

/** Does the same as `matchRules`, but yields after each rule, since a topic may have thousands of rules. */
export function* matchInSteps(
  rules: readonly Rule[],
  input: FilterInput,
  random: RandomSource,
): Generator<void, RuleMatch, void> {
  const changed: MatchedCopy[] = [];
  const failures: RuleFailure[] = [];
  let hasPlainCopy = false;
  for (const rule of rules) {
    if (rule.action === undefined && hasPlainCopy) continue;
    try {
      if (evaluate(rule.filter, input, random) === true) {
        if (rule.action === undefined) hasPlainCopy = true;
        else changed.push(changedCopy(rule, applyAction(rule.action, input, random)));
      }
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      failures.push({ rule, error });
    }
    yield;
  }
  return { copies: hasPlainCopy ? [{ message: input.message }, ...changed] : changed, failures };
}

/** The broker owns RuleName, so it replaces a value of the sender or of the action. */
function changedCopy(rule: Rule, { message }: FilterInput): MatchedCopy {
  const properties = { ...message.properties, RuleName: text(rule.name) };
  return { message: { ...message, properties }, rule };
}
