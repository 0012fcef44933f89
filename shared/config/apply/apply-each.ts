import type { EntitySettings } from '../../broker/management/describe-entity.ts';
import type { BrokerError } from '../../domain/broker-error.ts';
import { parseEntityPath } from '../../domain/entities/entity-path.ts';
import { Limiter } from '../../domain/turns/limiter.ts';
import { closingForwards, type Destination, destinationsOf } from '../circles.ts';
import { CONFIG_LIMITS } from '../config-limits.ts';
import { Faults } from '../faults.ts';
import type { EntityConfig, NamespaceConfig } from '../namespace-config.ts';
import {
  type AppliedConsumer,
  addConsumers,
  createConsumers,
  deleteOthers,
  updateConsumers,
} from './apply-consumers.ts';
import { type AppliedRule, addRules, createRules, updateRules } from './apply-rules.ts';
import { isCreated, requireKind, updateSettings, withPolicies } from './apply-settings.ts';
import type { ConfigTarget } from './config-target.ts';
import { differencesOf } from './differences.ts';

/** How many entities of a configuration were created, updated, and left as they were. */
export interface AppliedConfig {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}

/** How to apply a configuration. */
export interface ApplyOptions {
  /** Whether entities and rules that exist with other settings stay as they are. Default: they are updated. */
  readonly keepsExisting?: boolean;
  /** Called whenever the work on an entity has ended. */
  readonly applied?: () => void;
  /** Once it aborts, no work on another entity begins. */
  readonly signal?: AbortSignal;
}

/** What became of an entity and its rules. */
export interface AppliedEntity {
  readonly name: string;
  readonly outcome: keyof AppliedConfig;
  readonly rules: readonly AppliedRule[];
  readonly consumers: readonly AppliedConsumer[];
  /** A sentence for each setting, rule and consumer that is not as the configuration has it, and stays. */
  readonly differences: readonly string[];
}

/** What became of a configuration. */
export interface Application {
  /** In the order of the configuration, without those that were refused or not begun. */
  readonly entities: readonly AppliedEntity[];
  /** Lines about what was refused, with the path of each. */
  readonly faults: readonly string[];
}

/**
 * Creates the entities of a configuration, destinations of forwarding first, and updates those that exist with other
 * settings. Rules, consumers and shared access policies of what exists are changed only if the configuration mentions
 * them. Entities that it does not mention stay; other rules of a subscription whose rules it has, and other consumers
 * of an entity whose consumers it has, do not. Applying it again changes nothing. A forward that closes a circle is set
 * once all entities exist.
 *
 * Up to 16 entities, and 128 of their rules, are worked on at a time; each costs what its creation costs, and one that
 * exists two reads or more. Throws what the target throws beside BrokerError, after the work that was begun.
 */
export async function applyEach(
  target: ConfigTarget,
  config: NamespaceConfig,
  options: ApplyOptions = {},
): Promise<Application> {
  return await new Applying(target, config, options).all();
}

type Applied = AppliedEntity | undefined;

class Applying {
  readonly #target: ConfigTarget;
  readonly #options: ApplyOptions;
  readonly #entities: ReadonlyMap<string, EntityConfig>;
  /** The forwards that are set last, by the key of their entity. */
  readonly #closing: ReadonlyMap<string, readonly Destination[]>;
  readonly #limiter = new Limiter(CONFIG_LIMITS.width);
  readonly #ruleLimiter = new Limiter(CONFIG_LIMITS.ruleWidth);
  readonly #faults = new Faults();
  /** The work on each entity until it exists, by its key; undefined = it failed, or was not begun. */
  readonly #works = new Map<string, Promise<Applied>>();
  #hasFailed = false;

  constructor(target: ConfigTarget, { entities }: NamespaceConfig, options: ApplyOptions) {
    this.#target = target;
    this.#options = options;
    this.#entities = new Map(entities.map((entity) => [entity.name.toLowerCase(), entity]));
    this.#closing = closingForwards(this.#entities);
  }

  /** Waits for the work on all entities, so that none is under way when an error is thrown. */
  async all(): Promise<Application> {
    const works = [...this.#entities].map(async ([key, entity]) => {
      const applied = await this.#finish(key, entity);
      this.#options.applied?.();
      return applied;
    });
    const entities = (await Promise.allSettled(works)).flatMap((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value ?? [];
    });
    return { entities, faults: this.#faults.lines };
  }

  /** Works on an entity once. Without the closing forwards there are no circles, so no two wait for each other. */
  #start(key: string): Promise<Applied> {
    const begun = this.#works.get(key);
    if (begun !== undefined) return begun;
    const work = this.#begin(key);
    this.#works.set(key, work);
    return work;
  }

  async #begin(key: string): Promise<Applied> {
    const entity = this.#entities.get(key);
    if (entity === undefined) return undefined;
    const closing = this.#closing.get(key) ?? [];
    if (!(await this.#areThere(neededBy(entity, closing)))) return undefined;
    if (closing.length === 0) return await this.#during(entity, () => this.#apply(entity));
    const settings = withoutForwards(entity.settings, closing);
    return await this.#during(entity, async () => {
      const isNew = await isCreated(this.#target, { ...entity, settings });
      return unchanged(entity, isNew ? 'created' : 'unchanged');
    });
  }

  /** Waits until an entity exists, and sets its forwards that close a circle. */
  async #finish(key: string, entity: EntityConfig): Promise<Applied> {
    const begun = await this.#start(key);
    const closing = this.#closing.get(key);
    if (begun === undefined || closing === undefined) return begun;
    const names = closing.map(({ name }) => name);
    const isNew = begun.outcome === 'created';
    const done = (await this.#areThere(names))
      ? await this.#during(entity, async () => {
          if (!isNew) return await this.#applyExisting(entity);
          await this.#target.update(entity.name, entity.settings, '*');
          return await this.#createParts(entity);
        })
      : undefined;
    if (done !== undefined || !isNew) return done;
    const missing = `${entity.name} was created without its forwarding to ${names.join(' and ')}.`;
    return { ...begun, differences: [missing] };
  }

  /**
   * Whether the work on entities has succeeded. If it has not, its own fault says enough. Entities that the
   * configuration does not have are left to the service.
   */
  async #areThere(names: readonly string[]): Promise<boolean> {
    const keys = names.map((name) => name.toLowerCase()).filter((key) => this.#entities.has(key));
    const others = await Promise.all(keys.map((key) => this.#start(key)));
    return !others.includes(undefined);
  }

  async #during(entity: EntityConfig, work: () => Promise<AppliedEntity>): Promise<Applied> {
    return await this.#limiter.during('apply', async () => {
      if (this.#hasFailed || this.#options.signal?.aborted) return undefined;
      try {
        return await this.#faults.attemptLater((error) => placeOf(entity, error), work);
      } catch (error) {
        this.#hasFailed = true;
        throw error;
      }
    });
  }

  async #apply(entity: EntityConfig): Promise<AppliedEntity> {
    if (!(await isCreated(this.#target, entity))) return await this.#applyExisting(entity);
    return await this.#createParts(entity);
  }

  /** Creates the consumers of an entity that was just created, and the rules of a subscription after the first one. */
  async #createParts(entity: EntityConfig): Promise<AppliedEntity> {
    const [first, ...others] = entity.rules ?? [];
    const created = await createRules(this.#rulesOf(entity), others);
    const own = first === undefined ? [] : [{ name: first.rule.name, outcome: 'created' as const }];
    const consumers = await createConsumers(this.#consumersOf(entity), entity.consumers ?? []);
    return { ...unchanged(entity, 'created'), rules: [...own, ...created], consumers };
  }

  async #applyExisting(entity: EntityConfig): Promise<AppliedEntity> {
    const { description } = await this.#target.get(entity.name);
    requireKind(entity, description);
    const settings = withPolicies(entity.settings, description);
    if (this.#options.keepsExisting === true) {
      const own = differencesOf(this.#target, { ...entity, settings }, description);
      const { rules, differences } =
        entity.rules === undefined
          ? unchanged(entity)
          : await addRules(this.#rulesOf(entity), entity.rules);
      const added =
        entity.consumers === undefined
          ? unchanged(entity)
          : await addConsumers(this.#consumersOf(entity), entity.consumers);
      const all = [...own, ...differences, ...added.differences];
      return { ...unchanged(entity), rules, consumers: added.consumers, differences: all };
    }
    const deleted = entity.consumers
      ? await deleteOthers(this.#consumersOf(entity), entity.consumers)
      : [];
    const hasSettings = await updateSettings(this.#target, { ...entity, settings }, description);
    const { rules, differences } =
      entity.rules === undefined
        ? unchanged(entity)
        : await updateRules(this.#rulesOf(entity), entity.rules);
    const put = entity.consumers
      ? await updateConsumers(this.#consumersOf(entity), entity.consumers)
      : [];
    const consumers = [...put, ...deleted];
    const hasParts = [...rules, ...consumers].some(({ outcome }) => outcome !== 'unchanged');
    const outcome = hasSettings || hasParts ? 'updated' : 'unchanged';
    return { ...unchanged(entity, outcome), rules, consumers, differences };
  }

  #consumersOf({ name: entity }: EntityConfig) {
    return { target: this.#target.consumers, entity, faults: this.#faults };
  }

  #rulesOf({ name: subscription }: EntityConfig) {
    return {
      target: this.#target,
      subscription,
      faults: this.#faults,
      limiter: this.#ruleLimiter,
    };
  }
}

function unchanged(
  { name }: EntityConfig,
  outcome: keyof AppliedConfig = 'unchanged',
): AppliedEntity {
  return { name, outcome, rules: [], consumers: [], differences: [] };
}

/** The names of the entities that must exist before an entity can, without those of `closing` forwards. */
function neededBy(entity: EntityConfig, closing: readonly Destination[]): readonly string[] {
  const later = closing.map(({ setting }) => setting);
  const destinations = destinationsOf(entity).filter(({ setting }) => !later.includes(setting));
  const names = destinations.map(({ name }) => name);
  const topic = parseEntityPath(entity.name).subscription?.topic;
  return topic === undefined ? names : [topic, ...names];
}

function withoutForwards(
  settings: EntitySettings,
  forwards: readonly Destination[],
): EntitySettings {
  const without: readonly string[] = forwards.map(({ setting }) => setting);
  return Object.fromEntries(
    Object.entries(settings).filter(([name]) => !without.includes(name)),
  ) as unknown as EntitySettings;
}

/** The path of the setting that a refusal is about, or else of the entity. */
function placeOf({ at, places }: EntityConfig, { message }: BrokerError): string {
  const quoted = [...message.matchAll(/'(\w+)'/g)].map(([, word = '']) => word);
  const names = message.startsWith('Partitioning') ? ['enablePartitioning'] : quoted;
  const settings = names.map((name) => name.slice(0, 1).toLowerCase() + name.slice(1));
  const setting = settings.find((name) => Object.hasOwn(places, name));
  return (setting === undefined ? undefined : places[setting]) ?? at;
}
