import type { SubQueue } from '../domain/entities/entity-path.ts';
import type { Faults } from './faults.ts';
import type { Placed } from './fields.ts';
import type { EntityKind } from './setting-table.ts';

/** How a form of configuration spells names. */
export interface Spelling {
  /** The name of a setting in this form, from its camelCase name. */
  readonly spell: (name: string) => string;
  /** The name of the rights of a policy. */
  readonly rightsName: string;
}

/** An entity of a configuration whose form was read, and whose values were not. */
export interface RawEntity {
  readonly kind: EntityKind;
  readonly at: string;
  readonly nameAt: string;
  /** Of a subscription: its name within its topic. */
  readonly name: string;
  /** The name of a subscription's topic. */
  readonly topic?: string;
  /** The values of settings by their camelCase names, all of them known. */
  readonly settings: ReadonlyMap<string, Placed>;
  /** Absent = not mentioned, or none. */
  readonly rules?: readonly RawRule[];
  /** Absent = not mentioned. */
  readonly consumers?: readonly RawConsumer[];
  readonly consumersAt?: string;
}

/** A consumer of a configuration whose form was read, and whose values were not. */
export interface RawConsumer {
  readonly at: string;
  readonly nameAt: string;
  readonly name: string;
  readonly subQueue: SubQueue;
  /** The values of settings by their camelCase names, all of them known. */
  readonly settings: ReadonlyMap<string, Placed>;
}

/** A rule of a configuration, with the path of each of its parts. Faults of its form were noted already. */
export interface RawRule {
  readonly at: string;
  readonly nameAt: string;
  readonly name: string;
  readonly filterAt: string;
  /** Absent = every message. */
  readonly sql?: RawExpression;
  readonly correlation?: RawCorrelation;
  readonly action?: RawExpression;
}

/** An SQL expression, with values that were not read. */
export interface RawExpression {
  readonly at: string;
  readonly text: string;
  readonly parameters: RawValues;
}

/** A correlation filter. */
export interface RawCorrelation {
  /** Texts by the names of the domain, such as `label`. */
  readonly system: Readonly<Record<string, string>>;
  readonly properties: RawValues;
  /** Whether a fault of a condition was noted, so that the others may not be all that are meant. */
  readonly isFaulty: boolean;
}

/** Values of properties or parameters, with their paths. */
export type RawValues = ReadonlyMap<string, Placed>;

/** The entities of a configuration, in its order. */
export interface RawNamespace {
  readonly entities: readonly RawEntity[];
  readonly spelling: Spelling;
  readonly faults: Faults;
}
