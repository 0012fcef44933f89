import type { Construct } from 'constructs';
import { SettingsError } from '../setting-faults.ts';
import { dependByName, SubscriptionBase } from './entity-base.ts';
import type { SubscriptionProps } from './entity-props.ts';
import type { ISubscription, ITopic } from './entity-ref.ts';
import { declareEntity } from './entity-resource.ts';
import { entityAround, isTopic, requireFreeId } from './find-scope.ts';
import { namedEntity } from './named-entity.ts';

/**
 * A subscription that deployment creates, updates and deletes: `new Subscription(topic, 'audit')`. With rules, which
 * `Rule` declares, these are its only rules; without, it starts with the rule `$Default`, which selects every message,
 * and rules that programs make stay. Settings that are left out have the defaults of Service Bus. Throws an Error with
 * a line for each fault.
 */
export class Subscription extends SubscriptionBase {
  readonly topic: ITopic;
  readonly subscriptionName: string;
  readonly #rules = new Map<string, object>();

  /** A subscription that another app declares, or somebody creates by hand. Nothing is created. */
  static fromName(topic: ITopic, subscriptionName: string): ISubscription {
    return namedEntity(
      topic,
      'Subscription',
      subscriptionName,
      (scope, id) => new NamedSubscription(scope, id, topic, subscriptionName),
    );
  }

  constructor(scope: Construct, id: string, props: SubscriptionProps = {}) {
    const { subscriptionName = id, topic: given, ...settings } = props;
    requireFreeId(scope, id, 'subscriptionName');
    const topic = topicFor(scope, id, given);
    super(scope, id, {
      broker: topic.broker,
      entityPath: pathOf(topic, subscriptionName),
    });
    this.topic = topic;
    this.subscriptionName = subscriptionName;
    const resource = declareEntity(this, {
      kind: 'subscription',
      broker: topic.broker,
      name: subscriptionName,
      topic: topic.topicName,
      props: { ...settings },
      rules: () => [...this.#rules].map(([name, rule]) => ({ name, ...rule })),
    });
    resource.node.addDependency(topic);
    this.dependOn(resource);
  }

  /** Adds a rule, as JSON has it. Throws SettingsError if there is one of that name. @internal */
  addRule(name: string, rule: object, at: string): void {
    const key = name.toLowerCase();
    if ([...this.#rules.keys()].some((other) => other.toLowerCase() === key)) {
      throw new SettingsError([
        `${at}: The subscription has a rule '${name}' already, and case does not count: choose another name.`,
      ]);
    }
    this.#rules.set(name, rule);
  }
}

class NamedSubscription extends SubscriptionBase {
  readonly topic: ITopic;
  readonly subscriptionName: string;

  constructor(scope: Construct, id: string, topic: ITopic, subscriptionName: string) {
    super(scope, id, { broker: topic.broker, entityPath: pathOf(topic, subscriptionName) });
    this.topic = topic;
    this.subscriptionName = subscriptionName;
    dependByName(this);
  }
}

function pathOf({ topicName }: ITopic, subscriptionName: string): string {
  return `${topicName}/Subscriptions/${subscriptionName}`;
}

function topicFor(scope: Construct, id: string, given: unknown): ITopic {
  const topic = given ?? entityAround(scope);
  if (isTopic(topic)) return topic;
  throw new SettingsError([
    `${scope.node.path}/${id}: It has no topic: create it in a Topic, or set topic in its properties.`,
  ]);
}
