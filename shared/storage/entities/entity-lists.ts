import type { ListPage, Page } from '../../broker/ports/entities.ts';
import type { AgeClock, Instant } from '../../domain/age.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { SECOND_MS } from '../../domain/units.ts';
import type { Document, DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import {
  ALL_TOPICS_LISTED,
  subscriptionsOf,
  TOP_LEVEL_PREFIX,
  topicListEntry,
  topicListOf,
  topLevelKey,
} from '../schema/entity-keys.ts';
import { fromDocument } from './entity-document.ts';

/** How long the place where a page ended is remembered, ms. */
const PLACE_MS = 60 * SECOND_MS;
const PLACES_MAX = 1000;
/** Documents that one request reads at most, in the pages in front of the one that is asked for. */
const READ_MAX = 1000;

/** The documents of a list, in order. */
interface Source {
  readonly collection: string;
  readonly prefix?: string;
  /** Which of them are in the list. */
  readonly includes: (document: Document) => boolean;
}

/** Where a page ended. */
interface Place {
  /** The sort key of its last document. */
  readonly after: string;
  readonly readAt: Instant;
}

/**
 * Reads pages of the lists of entities, strongly consistent. A first page costs the same however many entities there
 * are. A later page is found by its number of entities in front, so it reads those too, unless this process served the
 * page before a moment ago: then it begins where that one ended, and shows none of its entities again.
 *
 * Queues and topics share one collection. Topics are few among queues, so they have a list of their own, which has
 * only their keys. Topics that an earlier version created are missing there until the sweep has added them; until then
 * all queues and topics are read. In a namespace without entities, the first creation notes that none are missing.
 */
export class EntityLists {
  readonly #table: DocumentTable;
  readonly #namespace: string;
  readonly #ages: AgeClock;
  readonly #places = new BoundedMap<string, Place>(PLACES_MAX);

  constructor(table: DocumentTable, namespace: string, ages: AgeClock) {
    this.#table = table;
    this.#namespace = namespace;
    this.#ages = ages;
  }

  /** The subscriptions of the topic with this id. */
  async subscriptions(topicId: string, range: Range): Promise<Page<Entity>> {
    const collection = subscriptionsOf(this.#namespace, topicId);
    return toEntities(await this.#page({ collection, includes: () => true }, range));
  }

  /** The queues or topics of the namespace. */
  async ofKind(page: Extract<ListPage, { kind: 'queue' | 'topic' }>): Promise<Page<Entity>> {
    if (page.kind === 'topic' && (await this.#areAllTopicsListed()))
      return await this.#topics(page);
    const source = {
      collection: this.#namespace,
      prefix: TOP_LEVEL_PREFIX,
      includes: (document: Document) => fromDocument(document).description.kind === page.kind,
    };
    return toEntities(await this.#page(source, page, page.kind));
  }

  async #areAllTopicsListed(): Promise<boolean> {
    return (await this.#table.get(allTopicsListed(this.#namespace))) !== undefined;
  }

  async #topics(range: Range): Promise<Page<Entity>> {
    const { items, more } = await this.#page(
      {
        collection: topicListOf(this.#namespace),
        includes: ({ sk }) => sk !== ALL_TOPICS_LISTED,
      },
      range,
    );
    const keys = items.map(({ sk }) => topLevelKey(this.#namespace, String(sk)));
    const found = new Map(
      (await this.#table.getMany(keys)).map((document) => [document['sk'], document] as const),
    );
    // One that is missing was removed since the list was read. An earlier version left removed topics in the list, in
    // whose place a queue may be.
    const documents = keys.flatMap(({ sk }) => {
      const document = found.get(sk);
      const isTopic = document && fromDocument(document).description.kind === 'topic';
      return isTopic ? [document] : [];
    });
    return toEntities({ items: documents, more });
  }

  async #page(
    { collection, prefix, includes }: Source,
    { skip, top }: Range,
    name = '',
  ): Promise<Page<Document>> {
    const placeAt = (position: number) => `${collection}/${name}/${position}`;
    const place = skip === 0 ? undefined : this.#recent(placeAt(skip));
    const left = place === undefined ? skip : 0;
    const pageSize = Math.min(left + top + 1, READ_MAX);
    const readAt = this.#ages.now();
    const found: Document[] = [];
    // One document more than asked for shows whether there is another page.
    for await (const document of this.#table.all(collection, prefix, {
      after: place?.after,
      pageSize,
    })) {
      if (includes(document)) found.push(document);
      if (found.length > left + top) break;
    }
    const items = found.slice(left, left + top);
    const last = items.at(-1);
    const more = found.length > left + top;
    if (more && last !== undefined) {
      this.#places.set(placeAt(skip + top), { after: String(last['sk']), readAt });
    }
    return { items, more };
  }

  #recent(name: string): Place | undefined {
    const place = this.#places.get(name);
    return place !== undefined && this.#ages.since(place.readAt) < PLACE_MS ? place : undefined;
  }
}

type Range = Pick<ListPage, 'skip' | 'top'>;

function toEntities({ items, more }: Page<Document>): Page<Entity> {
  return { items: items.map(fromDocument), more };
}

/** The document that says that the list of topics has all of them. */
export function allTopicsListed(namespace: string): ItemKey {
  return { pk: topicListOf(namespace), sk: ALL_TOPICS_LISTED };
}

/** The write that puts a new topic into the list of topics; none for other entities. */
export function topicListPut(
  table: string,
  namespace: string,
  { key, description }: Entity,
): readonly DocumentWrite[] {
  if (description.kind !== 'topic') return [];
  return [{ Put: { TableName: table, Item: topicListEntry(namespace, key) } }];
}

/** The write that takes a removed topic from the list of topics; none for other entities. */
export function topicListRemoval(
  table: string,
  namespace: string,
  { key, description }: Entity,
): readonly DocumentWrite[] {
  if (description.kind !== 'topic') return [];
  return [{ Delete: { TableName: table, Key: topicListEntry(namespace, key) } }];
}
