/** The package `dynabus/testing`: a Service Bus namespace for a test, with a clock that the test moves. */

export type { PushedEvent, PushedRecord } from '../../lambdas/push/event/record.ts';
export type {
  ConsumerDescription,
  Duration,
  NamespaceDescription,
  QueueDescription,
  RuleDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../config/description.ts';
export type {
  ConsumeSettings,
  Consumption,
  EmulatorConfiguration,
  NamespaceClock,
  TestMessage,
  TestNamespace,
} from './api.ts';
export type { MessageHandler } from './handler-server.ts';
export { startNamespace } from './start-namespace.ts';
