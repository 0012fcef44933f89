import type { EntitySettings } from '../broker/management/describe-entity.ts';
import type { RuleInput } from '../broker/ports/management.ts';
import type { ConsumerInput } from '../domain/consumers/consumer-settings.ts';
import type { SubQueue } from '../domain/entities/entity-path.ts';

/** The entities of a checked configuration: queues and topics, then subscriptions. */
export interface NamespaceConfig {
  readonly entities: readonly EntityConfig[];
}

/** An entity of a configuration. */
export interface EntityConfig {
  /** Its path in the configuration. */
  readonly at: string;
  /** Its path in the namespace, such as `events/Subscriptions/audit`. */
  readonly name: string;
  readonly settings: EntitySettings;
  /** By setting, in camelCase, its path in the configuration. */
  readonly places: Readonly<Record<string, string>>;
  /** Of a subscription: its only rules, at least one. Absent = the configuration does not mention them. */
  readonly rules?: readonly RuleConfig[];
  /** Of a queue or subscription: its only consumers. Absent = the configuration does not mention them. */
  readonly consumers?: readonly ConsumerConfig[];
}

/** A consumer of a configuration. */
export interface ConsumerConfig {
  /** Its path in the configuration. */
  readonly at: string;
  readonly name: string;
  readonly subQueue: SubQueue;
  readonly input: ConsumerInput;
}

/** A rule of a configuration. */
export interface RuleConfig {
  /** Its path in the configuration. */
  readonly at: string;
  readonly rule: RuleInput;
}
