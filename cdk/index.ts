/** The entry `dynabus/cdk`: constructs for the stacks of other people. */

export type {
  CorrelationFilter,
  Expression,
  RuleValue,
} from '../shared/config/rule-description.ts';
export type {
  AmqpLimitsProps,
  AmqpProps,
  BrokerProps,
  FunctionConcurrencyProps,
  FunctionMemoryProps,
  PushProps,
  RateProps,
} from './broker-props.ts';
export { Broker } from './constructs/broker.ts';
export type { BrokerAttributes, IBroker } from './constructs/broker-ref.ts';
export {
  AuthorizationRule,
  type AuthorizationRuleProps,
} from './entities/authorization-rule.ts';
export type {
  DeliveryProps,
  EntityProps,
  IngressProps,
  QueueProps,
  SubscriptionProps,
  TopicProps,
} from './entities/entity-props.ts';
export type {
  ConsumerProps,
  IConsumer,
  IEntity,
  IQueue,
  IReceivable,
  ISendable,
  ISubscription,
  ITopic,
} from './entities/entity-ref.ts';
export { Queue } from './entities/queue.ts';
export { Rule, type RuleProps } from './entities/rule.ts';
export { Subscription } from './entities/subscription.ts';
export { Topic } from './entities/topic.ts';
