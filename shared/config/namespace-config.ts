import type { EntitySettings } from '../broker/management/describe-entity.ts';
import type { RuleInput } from '../broker/ports/management.ts';

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
}

/** A rule of a configuration. */
export interface RuleConfig {
  /** Its path in the configuration. */
  readonly at: string;
  readonly rule: RuleInput;
}
