import { textOf } from '../../client/atom-xml.ts';
import {
  allConsumers,
  listConsumers,
  putConsumer,
  removeConsumer,
} from '../../client/consumers.ts';
import { type Described, describe, listPage, put, remove } from '../../client/management.ts';
import type { NamespaceClient } from '../../client/namespace-client.ts';
import {
  describeEntity,
  type EntitySettings,
} from '../../shared/broker/management/describe-entity.ts';
import type { RuleInput } from '../../shared/broker/ports/management.ts';
import type {
  ConfigTarget,
  ConsumerTarget,
  RuleTarget,
} from '../../shared/config/apply/config-target.ts';
import { entityNotFound } from '../../shared/domain/broker-error.ts';
import type { EntityDescription } from '../../shared/domain/entities/descriptions.ts';
import type { Tier, TieredNamespace } from '../../shared/domain/entities/tier.ts';
import { Limiter } from '../../shared/domain/turns/limiter.ts';
import type { ExportedConsumer } from '../config/to-consumers.ts';
import { readExportedConsumer, readShownConsumer, writeConsumer } from './consumer-json.ts';
import { readDescription, readRuleOf } from './read-description.ts';
import { brokerErrorOf } from './refusals.ts';
import { writeDescription, writeRuleOf } from './write-description.ts';

/** Requests to the namespace at the same time. */
const REQUESTS_MAX = 16;

/** What a namespace says of itself. */
const NAMESPACE_INFO = '$namespaceinfo';
const TIERS = ['Standard', 'Basic', 'Premium'] as const satisfies readonly Tier[];

/**
 * The entities of a namespace that is called over HTTP, as `applyConfig` uses them. Methods throw BrokerError for a
 * refusal; RefusalError if the connection string has not the right for it; and UnreachableError. Up to 16 requests are
 * under way at a time, and each call is one.
 */
export class RemoteEntities implements ConfigTarget {
  /** The rules of subscriptions. */
  readonly rules: RuleTarget;
  /** The consumers of queues, subscriptions and their dead-letter queues. */
  readonly consumers: ConsumerTarget;
  readonly #client: NamespaceClient;
  readonly #namespace: TieredNamespace;
  readonly #limiter = new Limiter(REQUESTS_MAX);

  private constructor(client: NamespaceClient, namespace: TieredNamespace) {
    this.#client = client;
    this.#namespace = namespace;
    this.rules = this.#rules();
    this.consumers = this.#consumers();
  }

  /** Asks the namespace for its tier, on which defaults depend. Throws RefusalError, UnreachableError. */
  static async open(client: NamespaceClient): Promise<RemoteEntities> {
    const info = await describe(client, NAMESPACE_INFO);
    const text = (name: string) =>
      info === undefined ? undefined : textOf(info.description, name);
    const sku = text('MessagingSKU');
    const tier = TIERS.find((one) => one === sku) ?? 'Standard';
    return new RemoteEntities(client, { name: text('Name') ?? client.address, tier });
  }

  /** Creates an entity. */
  async create(path: string, settings: EntitySettings): Promise<void> {
    await this.#call(() => put(this.#client, path, writeDescription(path, settings)));
  }

  /** Replaces the settings of an entity. */
  async update(path: string, settings: EntitySettings): Promise<void> {
    await this.#call(() => put(this.#client, path, writeDescription(path, settings), '*'));
  }

  /** Reads an entity. */
  async get(path: string): Promise<{ readonly description: EntityDescription }> {
    const found = await this.#call(() => describe(this.#client, path));
    // The vendor's service may answer with an empty feed.
    if (found === undefined) throw entityNotFound(path);
    return { description: this.read(found, path) };
  }

  /** The description in an entry. `path` = that of its entity. */
  read(entry: Described, path: string): EntityDescription {
    return readDescription(entry, path, this.#namespace.tier);
  }

  /** The description that an entity has after its creation, or an update. Throws ArgumentError. */
  describe(settings: EntitySettings, current?: EntityDescription): EntityDescription {
    // The keys stand for those that the service generates.
    const random = { bytes: (count: number) => new Uint8Array(count) };
    return describeEntity(settings, current, { namespace: this.#namespace, now: 0, random });
  }

  /** All entries of a list: `$Resources/Queues`, `events/Subscriptions`. */
  async list(path: string): Promise<readonly Described[]> {
    const all: Described[] = [];
    for (let more = true; more; ) {
      const page = { skip: all.length, top: PAGE };
      const { entries, hasMore } = await this.#call(() => listPage(this.#client, path, page));
      all.push(...entries);
      more = hasMore && entries.length > 0;
    }
    return all;
  }

  #rules(): RuleTarget {
    const pathOf = (subscription: string, rule: string) => `${subscription}/Rules/${rule}`;
    const write = (subscription: string, rule: RuleInput, ifMatch?: '*') =>
      this.#call(() =>
        put(this.#client, pathOf(subscription, rule.name), writeRuleOf(rule), ifMatch),
      );
    return {
      create: (subscription, rule) => write(subscription, rule),
      update: write,
      delete: (subscription, name) =>
        this.#call(() => remove(this.#client, pathOf(subscription, name))),
      list: async (subscription, page) => {
        const { entries, hasMore } = await this.#call(() =>
          listPage(this.#client, `${subscription}/Rules`, page),
        );
        const items = entries.map((entry) => ({ stored: { rule: readRuleOf(entry) } }));
        return { items, more: hasMore && items.length > 0 };
      },
    };
  }

  /** The consumers of all entities, by the lower-case path of the entity. */
  async allConsumers(): Promise<ReadonlyMap<string, readonly ExportedConsumer[]>> {
    return await this.#call(async () => {
      const found = new Map<string, readonly ExportedConsumer[]>();
      for await (const { entity, consumers } of allConsumers(this.#client)) {
        found.set(entity.toLowerCase(), consumers.map(readExportedConsumer));
      }
      return found;
    });
  }

  #consumers(): ConsumerTarget {
    const client = this.#client;
    return {
      put: (path, name, input) =>
        this.#call(() => putConsumer(client, path, name, writeConsumer(input))),
      remove: (path, name) => this.#call(() => removeConsumer(client, path, name)),
      list: async (path) => {
        const shown = await this.#call(() => listConsumers(client, path));
        return shown.map((one) => ({ consumer: { name: one.name, ...readShownConsumer(one) } }));
      },
    };
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    return await this.#limiter.during('call', async () => {
      try {
        return await work();
      } catch (error) {
        throw brokerErrorOf(error);
      }
    });
  }
}

const PAGE = 100;
