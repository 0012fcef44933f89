/** The entry `dynabus/cdk`: constructs for the stacks of other people. */
export type {
  AmqpLimitsProps,
  AmqpProps,
  BrokerProps,
  FunctionConcurrencyProps,
  FunctionMemoryProps,
  RateProps,
} from './broker-props.ts';
export { Broker } from './constructs/broker.ts';
export type { BrokerAttributes, IBroker } from './constructs/broker-ref.ts';
