import { isDeepStrictEqual } from 'node:util';
import type { Management } from '../../shared/broker/management/management.ts';
import { argumentError, BrokerError } from '../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { Limiter } from '../../shared/domain/turns/limiter.ts';
import { createRules, updateRules } from './apply-rules.ts';
import { destinationsOf } from './check-forwarding.ts';
import { Faults } from './config-error.ts';
import { CONFIG_LIMITS } from './config-limits.ts';
import type { EntityConfig, NamespaceConfig } from './namespace-config.ts';

/** How many entities of a configuration were created, updated, and left as they were. */
export interface AppliedConfig {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}

type Outcome = keyof AppliedConfig;

/**
 * Creates the entities of a configuration, destinations of forwarding first, and updates those that exist with other
 * settings. Rules of an existing subscription are changed only if the configuration has some. Entities and rules that
 * it does not mention stay, except other rules of a subscription whose rules it has. Applying it again changes nothing.
 *
 * Throws ConfigError with a fault for each entity that the service refuses; the others are applied nevertheless. Up to
 * 16 entities are worked on at a time; each costs what its creation costs, and one that exists at least two reads.
 */
export async function applyConfig(
  management: Management,
  config: NamespaceConfig,
): Promise<AppliedConfig> {
  const applying = new Applying(management, config);
  const outcomes = await applying.all();
  const count = (outcome: Outcome) => outcomes.filter((one) => one === outcome).length;
  return { created: count('created'), updated: count('updated'), unchanged: count('unchanged') };
}

class Applying {
  readonly #management: Management;
  readonly #entities: ReadonlyMap<string, EntityConfig>;
  readonly #limiter = new Limiter(CONFIG_LIMITS.width);
  readonly #faults = new Faults();
  /** The work on each entity, by its key; undefined = it failed. */
  readonly #works = new Map<string, Promise<Outcome | undefined>>();

  constructor(management: Management, { entities }: NamespaceConfig) {
    this.#management = management;
    this.#entities = new Map(entities.map((entity) => [entity.name.toLowerCase(), entity]));
  }

  async all(): Promise<readonly (Outcome | undefined)[]> {
    const settled = await Promise.allSettled(
      [...this.#entities.keys()].map((key) => this.#start(key)),
    );
    const outcomes = settled.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
    this.#faults.throwIfAny();
    return outcomes;
  }

  /** Works on an entity once. A configuration has no circles, so no two wait for each other. */
  #start(key: string): Promise<Outcome | undefined> {
    const begun = this.#works.get(key);
    if (begun !== undefined) return begun;
    const work = this.#apply(key);
    this.#works.set(key, work);
    return work;
  }

  async #apply(key: string): Promise<Outcome | undefined> {
    const entity = this.#entities.get(key);
    if (entity === undefined) return undefined;
    const needed = await Promise.all(neededBy(entity).map((other) => this.#start(other)));
    // The fault of the other entity says enough.
    if (needed.includes(undefined)) return undefined;
    return await this.#limiter.during('apply', () => this.#createOrUpdate(entity));
  }

  async #createOrUpdate(entity: EntityConfig): Promise<Outcome | undefined> {
    const place = (error: BrokerError) => placeOf(entity, error);
    return await this.#faults.attemptLater(place, () =>
      createOrUpdate(this.#management, entity, this.#faults),
    );
  }
}

/** The keys of the entities that must exist before an entity can. */
function neededBy(entity: EntityConfig): readonly string[] {
  const destinations = destinationsOf(entity).map(({ name }) => name.toLowerCase());
  const topic = parseEntityPath(entity.name).subscription?.topic;
  return topic === undefined ? destinations : [topic.toLowerCase(), ...destinations];
}

/** The path of the setting that a refusal is about, or else of the entity. */
function placeOf({ at, places }: EntityConfig, { message }: BrokerError): string {
  const quoted = [...message.matchAll(/'(\w+)'/g)].map(([, word = '']) => word);
  const names = message.startsWith('Partitioning') ? ['enablePartitioning'] : quoted;
  const settings = names.map((name) => name.slice(0, 1).toLowerCase() + name.slice(1));
  const setting = settings.find((name) => Object.hasOwn(places, name));
  return (setting === undefined ? undefined : places[setting]) ?? at;
}

async function createOrUpdate(
  management: Management,
  entity: EntityConfig,
  faults: Faults,
): Promise<Outcome> {
  if (await isCreated(management, entity)) {
    await createRules(management, entity.name, entity.rules?.slice(1) ?? [], faults);
    return 'created';
  }
  const hasSettings = await updateSettings(management, entity);
  const hasRules =
    entity.rules !== undefined &&
    (await updateRules(management, entity.name, entity.rules, faults));
  return hasSettings || hasRules ? 'updated' : 'unchanged';
}

/** Creates an entity, a subscription with its first rule. Returns false if it exists. Throws BrokerError. */
async function isCreated(management: Management, entity: EntityConfig): Promise<boolean> {
  const { name, settings, rules } = entity;
  const first = rules?.[0]?.rule;
  const withRule =
    settings.kind === 'subscription' && first !== undefined
      ? { ...settings, defaultRule: first }
      : settings;
  try {
    await management.create(name, withRule);
    return true;
  } catch (error) {
    if (error instanceof BrokerError && error.code === 'MessagingEntityAlreadyExists') return false;
    throw error;
  }
}

/** Returns whether an existing entity had other settings and now has these. Throws BrokerError. */
async function updateSettings(management: Management, entity: EntityConfig): Promise<boolean> {
  const { name, settings } = entity;
  const { description } = await management.get(name);
  if (description.kind !== settings.kind) {
    throw argumentError(
      `The namespace has a ${description.kind} '${name}', and no ${settings.kind}: delete it, or choose another name.`,
    );
  }
  try {
    const wanted = management.describe(settings, description);
    if (isDeepStrictEqual(wanted, description)) return false;
    await management.update(name, settings, '*');
    return true;
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'ArgumentError') throw error;
    throw argumentError(
      `${error.message} The entity exists: delete it, so that it is created anew, or change the configuration.`,
      error,
    );
  }
}
