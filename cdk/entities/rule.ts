import { Construct } from 'constructs';
import type { CorrelationFilter, Expression } from '../../shared/config/rule-description.ts';
import { shortRule } from '../../shared/config/short-rule.ts';
import { assert } from '../../shared/domain/assert.ts';
import { SettingsError } from '../setting-faults.ts';
import { entityAround, isSubscription, requireFreeId } from './find-scope.ts';
import { readEntity } from './read-props.ts';
import type { Subscription } from './subscription.ts';

/** The properties of a rule. Without a filter it selects every message. */
export interface RuleProps {
  /** The subscription. Default: the scope. */
  readonly subscription?: Subscription;
  /**
   * The name: 1 to 50 letters, digits, `.`, `-` and `_`, or `$Default`; unique in its subscription, whatever the case.
   * Default: the id of the construct.
   */
  readonly ruleName?: string;
  /** An SQL filter: `priority > 3`. Excludes `correlation`. */
  readonly sql?: string | Expression;
  /** A filter by equal properties. Excludes `sql`. */
  readonly correlation?: CorrelationFilter;
  /** What the rule changes in its copies of messages: `SET x = 1`. */
  readonly action?: string | Expression;
}

/**
 * A rule of a subscription that the same app declares: `new Rule(subscription, 'large', { sql: 'Quantity > 100' })`. A
 * new subscription begins with its first rule; the others follow a moment later. Throws an Error with a line for each
 * fault.
 */
export class Rule extends Construct {
  readonly ruleName: string;
  readonly subscription: Subscription;

  constructor(scope: Construct, id: string, props: RuleProps = {}) {
    requireFreeId(scope, id, 'ruleName');
    super(scope, id);
    const { ruleName = id, subscription = entityAround(scope), ...rule } = props;
    const at = this.node.path;
    if (!isDeclared(subscription)) {
      throw new SettingsError([
        `${at}: It belongs to no Subscription of this app: create it in one, or set subscription.`,
      ]);
    }
    this.ruleName = ruleName;
    this.subscription = subscription;
    const { config } = readEntity(at, {
      kind: 'subscription',
      name: subscription.subscriptionName,
      topic: subscription.topic.topicName,
      tier: subscription.broker.tier,
      settings: { rules: [{ name: ruleName, ...rule }] },
    });
    const [read] = config.rules ?? [];
    assert(read !== undefined, 'the rule was read');
    subscription.addRule(ruleName, shortRule(read.rule), at);
  }
}

/** Not by its class, of which an app may have two. */
function isDeclared(one: unknown): one is Subscription {
  return isSubscription(one) && 'addRule' in one;
}
