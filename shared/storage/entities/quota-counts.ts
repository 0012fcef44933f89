import type { Quota, QuotaCounts, QuotaName, QuotaScope } from '../../broker/ports/management.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { type Entity, partitionsOf } from '../../domain/entities/entity.ts';
import type { Document, DocumentTable } from '../dynamodb/document-table.ts';
import {
  quotaCountsKey,
  rulesOf,
  subscriptionsOf,
  TOP_LEVEL_PREFIX,
} from '../schema/entity-keys.ts';
import { allTopicsListed } from './entity-lists.ts';

/** The dependencies of `DynamoQuotaCounts`. */
export interface QuotaCountsDependencies {
  readonly table: DocumentTable;
  readonly namespace: string;
  readonly random: RandomSource;
}

/** A quota is reached after at most this many writes of its count. */
const WRITES_TO_LIMIT = 1000;
/** Counts to which a process adds; one that is forgotten is inexact by less than a step. */
const ADDED_MAX = 10_000;

/**
 * Numbers of entities and filters for quotas, in one document for the namespace and one for each topic. Reading one
 * costs a read unit, however many there are. Creations of a kind with a high limit are not noted one by one, because
 * all processes write the same document: each process adds a whole step after as many creations, and begins anywhere
 * within a step, so that processes that create little are counted too. Removals are not noted. So a number may be too
 * high, and is counted anew when it reaches its limit; a quota may be exceeded by some steps.
 */
export class DynamoQuotaCounts implements QuotaCounts {
  readonly #dependencies: QuotaCountsDependencies;
  /** What this process has created and not yet added, by document and name. */
  readonly #created = new BoundedMap<string, number>(ADDED_MAX);

  constructor(dependencies: QuotaCountsDependencies) {
    this.#dependencies = dependencies;
  }

  async numbersOf(scope: QuotaScope, quotas: readonly Quota[]): Promise<readonly number[]> {
    const { table, namespace } = this.#dependencies;
    if (quotas.length === 0) return [];
    const document = await table.get(quotaCountsKey(namespace, scope.topicId));
    return await Promise.all(quotas.map((quota) => this.#numberOf(scope, quota, document)));
  }

  async #numberOf(
    scope: QuotaScope,
    { name, limit }: Quota,
    document: Document | undefined,
  ): Promise<number> {
    const stored = document?.[name] === undefined ? undefined : Number(document[name]);
    if (stored !== undefined && stored < limit) return stored;
    const counted = await this.#count(scope, name);
    await this.#replace(scope, name, { stored, counted });
    if (name === 'entities' && counted === 0) await this.#noteTopicsListed();
    return counted;
  }

  /** Notes that no topic is missing in their list, since there is none. Never throws: the sweep notes it, too. */
  async #noteTopicsListed(): Promise<void> {
    const { table, namespace } = this.#dependencies;
    await table.put({ ...allTopicsListed(namespace) }).catch(() => undefined);
  }

  /** Stores a number that was counted, unless another process has changed it since, because then it is newer. */
  async #replace(
    { topicId }: QuotaScope,
    name: QuotaName,
    { stored, counted }: { readonly stored: number | undefined; readonly counted: number },
  ): Promise<void> {
    await this.#write(topicId, {
      UpdateExpression: 'SET #name = :counted',
      ConditionExpression: stored === undefined ? 'attribute_not_exists(#name)' : '#name = :stored',
      ExpressionAttributeNames: { '#name': name },
      ExpressionAttributeValues: {
        ':counted': counted,
        ...(stored !== undefined && { ':stored': stored }),
      },
    });
  }

  /**
   * Writes a count unless its condition fails. Never throws, whatever the failure: without the write, a number is
   * counted again or is less exact, but a creation that is done would be reported as failed.
   */
  async #write(
    topicId: string | undefined,
    write: Parameters<DocumentTable['update']>[1],
  ): Promise<void> {
    const { table, namespace } = this.#dependencies;
    await table.update(quotaCountsKey(namespace, topicId), write).catch(() => undefined);
  }

  async noteCreated(scope: QuotaScope, quotas: readonly Quota[]): Promise<void> {
    const steps = quotas.flatMap(({ name, limit }) => {
      const step = Math.ceil(limit / WRITES_TO_LIMIT);
      return this.#isStepFull(`${scope.topicId ?? ''}/${name}`, step)
        ? [[name, step] as const]
        : [];
    });
    if (steps.length === 0) return;
    await this.#write(scope.topicId, {
      UpdateExpression: `ADD ${steps.map((_, i) => `#name${i} :step${i}`).join(', ')}`,
      // Without a number there is nothing to add to: the next creation counts.
      ConditionExpression: steps.map((_, i) => `attribute_exists(#name${i})`).join(' AND '),
      ExpressionAttributeNames: Object.fromEntries(steps.map(([name], i) => [`#name${i}`, name])),
      ExpressionAttributeValues: Object.fromEntries(
        steps.map(([, step], i) => [`:step${i}`, step]),
      ),
    });
  }

  /** Notes one creation. True = a whole step is to be added. */
  #isStepFull(count: string, step: number): boolean {
    const [low = 0, high = 0] = step === 1 ? [] : this.#dependencies.random.bytes(2);
    const created = (this.#created.get(count) ?? (low + 256 * high) % step) + 1;
    this.#created.set(count, created % step);
    return created >= step;
  }

  async #count({ topicId = '' }: QuotaScope, name: QuotaName): Promise<number> {
    const { namespace } = this.#dependencies;
    switch (name) {
      case 'entities':
        return await this.#countIn(namespace, { prefix: TOP_LEVEL_PREFIX });
      case 'partitioned':
        return await this.#countIn(namespace, { prefix: TOP_LEVEL_PREFIX, where: isPartitioned });
      case 'subscriptions':
        return await this.#countIn(subscriptionsOf(namespace, topicId));
      case 'sqlFilters':
        return await this.#countIn(rulesOf(namespace, topicId), { where: isOfKind('sql') });
      case 'correlationFilters':
        return await this.#countIn(rulesOf(namespace, topicId), { where: isOfKind('correlation') });
    }
  }

  async #countIn(
    collection: string,
    { prefix, where = () => true }: { readonly prefix?: string; readonly where?: Where } = {},
  ): Promise<number> {
    let count = 0;
    for await (const document of this.#dependencies.table.all(collection, prefix)) {
      if (where(document)) count++;
    }
    return count;
  }
}

type Where = (document: Document) => boolean;

const isOfKind =
  (wanted: string): Where =>
  ({ kind }) =>
    kind === wanted;

function isPartitioned(document: Document): boolean {
  return partitionsOf(document as unknown as Entity) > 1;
}
