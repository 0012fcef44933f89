import type { IConstruct } from 'constructs';
import { CONSUMER_LIMITS } from '../../shared/domain/consumers/consumer.ts';
import { consumerKey } from '../../shared/domain/consumers/consumer-key.ts';
import type { SubQueue } from '../../shared/domain/entities/entity-path.ts';
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
  /** The keys of its declared consumers. */
  readonly consumers: Map<string, Set<string>>;
  /** The entities whose messages, not only dead letters, are forwarded. */
  readonly forwarding: Set<string>;
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

const CONSUMERS_MAX = CONSUMER_LIMITS.perEntity;

/** Notes that an entity forwards its messages, so that no consumer can get them. */
export function noteForwarding(broker: IBroker, name: string): void {
  declared(broker).forwarding.add(name.toLowerCase());
}

/**
 * Notes that a consumer is declared. Throws SettingsError if it is not new, one too many, or one of messages that are
 * forwarded. `at` names it in the sentence.
 */
export function noteConsumer(
  broker: IBroker,
  {
    entity,
    subQueue,
    consumerName,
    at,
  }: {
    readonly entity: string;
    readonly subQueue: SubQueue;
    readonly consumerName: string;
    readonly at: string;
  },
): void {
  const { consumers, forwarding } = declared(broker);
  const entityKey = entity.toLowerCase();
  const keys = consumers.get(entityKey) ?? new Set();
  consumers.set(entityKey, keys);
  const key = consumerKey({ subQueue, name: consumerName });
  if (keys.has(key)) {
    throw new SettingsError([
      `${at} is declared twice, and case does not count: set another consumerName.`,
    ]);
  }
  if (keys.size === CONSUMERS_MAX) {
    throw new SettingsError([
      `${at} is one too many: an entity may have ${CONSUMERS_MAX} consumers with its dead-letter queues.`,
    ]);
  }
  if (subQueue === 'main' && forwarding.has(entityKey)) {
    throw new SettingsError([
      `${at} would get nothing, since the entity forwards its messages: give the consumer to the destination, or leave forwardTo out.`,
    ]);
  }
  keys.add(key);
}

function declared(broker: IBroker): Declared {
  const found = declaredIn.get(broker) ?? {
    entities: new Map(),
    destinations: new Map(),
    rules: new Map(),
    consumers: new Map(),
    forwarding: new Set(),
  };
  declaredIn.set(broker, found);
  return found;
}
