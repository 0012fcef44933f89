/** The package `dynabus/testing`: a Service Bus namespace for a test, with a clock that the test moves. */
export type {
  ConsumerDescription,
  Duration,
  NamespaceDescription,
  QueueDescription,
  RuleDescription,
  SubscriptionDescription,
  TopicDescription,
} from '../config/description.ts';
export type { EmulatorConfiguration, NamespaceClock, TestMessage, TestNamespace } from './api.ts';
export { startNamespace } from './start-namespace.ts';
