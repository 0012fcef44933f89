/** The XML of the management interface: entries that are read and written. */

/** An element as the parser returns it: its text under `#text`, attributes with `@`, children by name. */
export type XmlNode = Readonly<Record<string, unknown>>;

/** The names of elements that may repeat. */
const LISTS = new Set(['entry', 'link', 'KeyValueOfstringanyType', 'AuthorizationRule']);

/** An entry of the management interface. */
export interface AtomEntry {
  readonly title: string;
  /** The name of its description: QueueDescription. */
  readonly kind: string;
  /** Elements of the description, such as LockDuration. */
  readonly description: XmlNode;
  /** Whether its counts are estimates. */
  readonly hasEstimates: boolean;
}

/** The entries of a feed or a single entry. Loads the parser when it is first needed. */
export async function readEntries(
  xml: string,
): Promise<{ readonly entries: readonly AtomEntry[]; readonly hasMore: boolean }> {
  const { XMLParser } = await import('fast-xml-parser');
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    removeNSPrefix: true,
    parseTagValue: false,
    parseAttributeValue: false,
    trimValues: false,
    // Decoded here: the parser bounds the number of references in a document.
    processEntities: false,
    alwaysCreateTextNode: true,
    isArray: (name) => LISTS.has(name),
  });
  const root = parser.parse(xml) as XmlNode;
  const feed = childOf(root, 'feed');
  const entries = listOf(feed ?? root, 'entry').map(readEntry);
  const hasMore = listOf(feed ?? {}, 'link').some((link) => link['@rel'] === 'next');
  return { entries, hasMore };
}

function readEntry(entry: XmlNode): AtomEntry {
  const content = childOf(entry, 'content') ?? {};
  const [kind = ''] = Object.keys(content).filter((name) => nodeOf(content[name]) !== undefined);
  const scheme = childOf(entry, 'category')?.['@scheme'];
  return {
    title: textOf(entry, 'title') ?? '',
    kind,
    description: childOf(content, kind) ?? {},
    hasEstimates: scheme === 'urn:dynabus:counts',
  };
}

/** A child element; undefined if there is none. */
export function childOf(node: XmlNode, name: string): XmlNode | undefined {
  return nodeOf(node[name]);
}

/** The child elements of a name that may repeat. */
export function listOf(node: XmlNode, name: string): readonly XmlNode[] {
  const list = node[name];
  return Array.isArray(list) ? list.flatMap(nodesOf) : [];
}

/** The text of a child element; undefined if there is no such element. */
export function textOf(node: XmlNode, name: string): string | undefined {
  const text = childOf(node, name)?.['#text'];
  return typeof text === 'string' ? decodeXml(text) : undefined;
}

function nodeOf(value: unknown): XmlNode | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as XmlNode)
    : undefined;
}

function nodesOf(value: unknown): readonly XmlNode[] {
  const node = nodeOf(value);
  return node === undefined ? [] : [node];
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Replaces the references of XML by their characters. */
export function decodeXml(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return NAMED[name] ?? whole;
  });
}

/** The body of a PUT: an entry with a description, which is an XML element. */
export function entryOf(description: string): string {
  return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">${description}</content></entry>`;
}
