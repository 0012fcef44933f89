import type { IConstruct } from 'constructs';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError } from '../setting-faults.ts';

/**
 * What the constructs of one app have declared in a broker, by the lower-case paths of entities, so that synthesis
 * finds what deployment would refuse.
 */
interface Declared {
  /** The construct that declares the entity. */
  readonly entities: Map<string, IConstruct>;
  /** To what the entity forwards. */
  readonly destinations: Map<string, readonly string[]>;
  /** The names of its declared authorization rules. */
  readonly rules: Map<string, Set<string>>;
}

const declaredIn = new WeakMap<IBroker, Declared>();

/** Notes that a construct declares an entity. Throws SettingsError if another one declares it too. */
export function noteEntity(broker: IBroker, name: string, construct: IConstruct): void {
  const { entities } = declared(broker);
  const key = name.toLowerCase();
  const other = entities.get(key);
  if (other !== undefined) {
    throw new SettingsError([
      `${construct.node.path}: The name '${name}' is that of ${other.node.path} too, and case does not count: choose another.`,
    ]);
  }
  entities.set(key, construct);
}

/** Notes to what a declared entity forwards. */
export function noteForwards(broker: IBroker, name: string, paths: readonly string[]): void {
  const { destinations } = declared(broker);
  destinations.set(
    name.toLowerCase(),
    paths.map((path) => path.toLowerCase()),
  );
}

/** The construct that declares an entity in this app, if one does so far. */
export function declaringConstruct(broker: IBroker, path: string): IConstruct | undefined {
  return declared(broker).entities.get(path.toLowerCase());
}

/** Whether messages of an entity may come to another one, by the forwards that are declared so far. */
export function forwardsTo(broker: IBroker, from: string, to: string): boolean {
  const { destinations } = declared(broker);
  const reached = new Set([from.toLowerCase()]);
  // A set hands out what is added to it while it is walked.
  for (const path of reached) {
    for (const next of destinations.get(path) ?? []) reached.add(next);
  }
  return reached.has(to.toLowerCase());
}

const RULES_MAX = LIMITS.authorizationRules;

/** Notes that a construct declares an authorization rule. Throws SettingsError if it is not new, or one too many. */
export function noteRule(
  broker: IBroker,
  {
    entity,
    keyName,
    at,
  }: { readonly entity: string; readonly keyName: string; readonly at: string },
): void {
  const { rules } = declared(broker);
  const names = rules.get(entity.toLowerCase()) ?? new Set();
  rules.set(entity.toLowerCase(), names);
  if (names.has(keyName)) {
    throw new SettingsError([`${at}: The rule '${keyName}' of '${entity}' is declared twice.`]);
  }
  if (names.size === RULES_MAX) {
    throw new SettingsError([
      `${at}: '${entity}' has ${RULES_MAX} authorization rules already, and cannot have more; each function with a grant needs one: let functions share a role, or use access iam.`,
    ]);
  }
  names.add(keyName);
}

function declared(broker: IBroker): Declared {
  const found = declaredIn.get(broker) ?? {
    entities: new Map(),
    destinations: new Map(),
    rules: new Map(),
  };
  declaredIn.set(broker, found);
  return found;
}
