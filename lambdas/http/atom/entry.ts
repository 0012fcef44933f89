import { argumentError } from '../../../shared/domain/broker-error.ts';
import { isoDate } from '../format/date-text.ts';
import { NAMESPACE } from './namespaces.ts';
import { element, type Xml } from './write-xml.ts';
import { parseXml, type XmlElement } from './xml.ts';

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';
const OPENING_BRACE = 0x7b;
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

/** Reads the description from the XML of an Atom entry (semantics G11). Throws ArgumentError. */
export function readEntry(body: Uint8Array): SentDescription {
  // What clients send by mistake whose libraries have another type by default.
  if (body[0] === OPENING_BRACE) {
    throw argumentError(
      'The body is not XML that can be read. JSON needs the header Content-Type: application/json.',
    );
  }
  const entry = parseXml(body);
  if (entry.name !== 'entry' || entry.namespace !== NAMESPACE.atom) {
    throw argumentError(`The body must be an 'entry' of the namespace '${NAMESPACE.atom}'.`);
  }
  const contents = entry.children.filter(
    ({ name, namespace }) => name === 'content' && namespace === NAMESPACE.atom,
  );
  const [description, ...others] = contents.flatMap(({ children }) => children);
  const kind = DESCRIPTIONS.find((name) => name === description?.name);
  if (description?.namespace !== NAMESPACE.description || kind === undefined || others.length > 0) {
    throw argumentError(
      `The 'content' of the entry must be one of ${DESCRIPTIONS.join(', ')} of the namespace '${NAMESPACE.description}'.`,
    );
  }
  return { kind, element: description };
}

/** The content of the Atom entry of one resource. */
export interface EntryOptions {
  /** Absolute URL; the official clients take the entity's name from its path. */
  readonly id: string;
  readonly title: string;
  /** The name of the namespace. */
  readonly author: string;
  /** Epoch ms. */
  readonly publishedAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly content: Xml;
  /** Whether the counts of messages in it are extrapolated. */
  readonly hasEstimates?: boolean;
}

/**
 * The category of an entry of which the counts are extrapolated. A category is where Atom puts such a mark, and the
 * official clients, which refuse unknown attributes of counts, ignore it.
 */
const ESTIMATED = { scheme: 'urn:dynabus:counts', term: 'estimated' } as const;

/** Prints an entry inside a feed. */
export function innerEntry(options: EntryOptions): Xml {
  return element('entry', entryElements(options));
}

/** Prints an entry as a document. */
export function entryDocument(options: EntryOptions): string {
  return DECLARATION + element('entry', entryElements(options), { xmlns: NAMESPACE.atom }).xml;
}

function entryElements(options: EntryOptions): readonly (Xml | undefined)[] {
  return [
    element('id', options.id),
    element('title', options.title, { type: 'text' }),
    element('published', isoDate(options.publishedAt)),
    element('updated', isoDate(options.updatedAt)),
    element('author', [element('name', options.author)]),
    element('link', [], { rel: 'self', href: options.id }),
    options.hasEstimates ? element('category', [], ESTIMATED) : undefined,
    element('content', [options.content], { type: 'application/xml' }),
  ];
}

/** The content of an Atom feed. */
export interface FeedOptions {
  readonly title: string;
  /** Absolute URL. */
  readonly self: string;
  /** Absolute URL of the next page; absent on the last page. */
  readonly next?: string;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** As `innerEntry` prints them. */
  readonly entries: readonly Xml[];
}

/** Prints a feed as a document. It always has the link `self`: clients ignore a `next` without it. */
export function feedDocument({ title, self, next, updatedAt, entries }: FeedOptions): string {
  const elements = [
    element('title', title, { type: 'text' }),
    element('id', self),
    element('updated', isoDate(updatedAt)),
    element('link', [], { rel: 'self', href: self }),
    next === undefined ? undefined : element('link', [], { rel: 'next', href: next }),
    ...entries,
  ];
  return DECLARATION + element('feed', elements, { xmlns: NAMESPACE.atom }).xml;
}
