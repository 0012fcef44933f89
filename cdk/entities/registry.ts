import { LIMITS } from '../../shared/domain/limits.ts';
import type { IBroker } from '../constructs/broker-ref.ts';
import { SettingsError } from '../setting-faults.ts';

/** What the constructs of one app have declared in a broker, so that synthesis finds what deployment would refuse. */
interface Declared {
  /** By the lower-case path of an entity, the path of the construct that declares it. */
  readonly entities: Map<string, string>;
  /** By the lower-case path of an entity, the names of its declared authorization rules. */
  readonly rules: Map<string, Set<string>>;
}

const declaredIn = new WeakMap<IBroker, Declared>();

/** Notes that a construct declares an entity. Throws SettingsError if another one declares it too. */
export function noteEntity(broker: IBroker, name: string, at: string): void {
  const { entities } = declared(broker);
  const key = name.toLowerCase();
  const other = entities.get(key);
  if (other !== undefined) {
    throw new SettingsError([
      `${at}: The name '${name}' is that of ${other} too, and case does not count: choose another.`,
    ]);
  }
  entities.set(key, at);
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
  const found = declaredIn.get(broker) ?? { entities: new Map(), rules: new Map() };
  declaredIn.set(broker, found);
  return found;
}
