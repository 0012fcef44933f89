import { badValue } from '../../../shared/domain/entities/setting-checks.ts';
import { NAMESPACE } from './namespaces.ts';
import { instant } from './write-entity.ts';
import { element, type Xml } from './write-xml.ts';
import { parseXml, type XmlElement } from './xml.ts';

/** Atom's envelopes: an `entry` around one description, a `feed` around many (semantics G11). */

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';
const DESCRIPTIONS = [
  'QueueDescription',
  'TopicDescription',
  'SubscriptionDescription',
  'RuleDescription',
] as const;

/** A description that a client sent. */
export interface SentDescription {
  readonly kind: (typeof DESCRIPTIONS)[number];
  readonly element: XmlElement;
}

/** Takes the description out of an entry; its name says what it describes. Throws ArgumentError. */
export function readEntry(body: Uint8Array): SentDescription {
  const entry = parseXml(body);
  if (entry.name !== 'entry' || entry.namespace !== NAMESPACE.atom) {
    throw badValue(`The body must be an 'entry' of the namespace '${NAMESPACE.atom}'.`);
  }
  const contents = entry.children.filter(
    ({ name, namespace }) => name === 'content' && namespace === NAMESPACE.atom,
  );
  const [description, ...others] = contents.flatMap(({ children }) => children);
  const kind = DESCRIPTIONS.find((name) => name === description?.name);
  if (description?.namespace !== NAMESPACE.description || kind === undefined || others.length > 0) {
    throw badValue(
      `The 'content' of the entry must be one of ${DESCRIPTIONS.join(', ')} of the namespace '${NAMESPACE.description}'.`,
    );
  }
  return { kind, element: description };
}

/** One resource as it is shown. */
export interface EntryOptions {
  /** Absolute; the official clients take the entity's name from its path. */
  readonly id: string;
  readonly title: string;
  /** Name of the namespace. */
  readonly author: string;
  /** Epoch ms. */
  readonly publishedAt: number;
  readonly updatedAt: number;
  readonly content: Xml;
}

/** An entry that stands inside a feed. */
export function innerEntry(options: EntryOptions): Xml {
  return element('entry', entryElements(options));
}

/** An entry as a document. */
export function entryDocument(options: EntryOptions): string {
  return DECLARATION + element('entry', entryElements(options), { xmlns: NAMESPACE.atom }).xml;
}

function entryElements(options: EntryOptions): readonly Xml[] {
  return [
    element('id', options.id),
    element('title', options.title, { type: 'text' }),
    element('published', instant(options.publishedAt)),
    element('updated', instant(options.updatedAt)),
    element('author', [element('name', options.author)]),
    element('link', [], { rel: 'self', href: options.id }),
    element('content', [options.content], { type: 'application/xml' }),
  ];
}

/** A list as it is shown. */
export interface FeedOptions {
  readonly title: string;
  /** Absolute. */
  readonly self: string;
  /** Absolute; only where there are more. */
  readonly next?: string;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly entries: readonly EntryOptions[];
}

/** A feed as a document. The link `self` is always there: clients overlook a lone `next`. */
export function feedDocument({ title, self, next, updatedAt, entries }: FeedOptions): string {
  const elements = [
    element('title', title, { type: 'text' }),
    element('id', self),
    element('updated', instant(updatedAt)),
    element('link', [], { rel: 'self', href: self }),
    next === undefined ? undefined : element('link', [], { rel: 'next', href: next }),
    ...entries.map(innerEntry),
  ];
  return DECLARATION + element('feed', elements, { xmlns: NAMESPACE.atom }).xml;
}
