import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { forbiddenInXml } from '../format/xml-text.ts';

/** An element, identified by namespace, never by prefix: clients choose their own prefixes. */
export interface XmlElement {
  /** Empty where no namespace is declared. */
  readonly namespace: string;
  readonly name: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly XmlElement[];
  /** Its own text without that of its children, white space included. */
  readonly text: string;
}

/** An attribute that is not a namespace declaration. */
export interface XmlAttribute {
  /** Empty for an attribute without a prefix. */
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
}

const LIMITS = BUDGETS.xml;
/** The longest reason in a refusal: the parser quotes any length of the input. */
const REASON_LENGTH = 200;

/** Keeps values unchanged: no conversion, no trimming; `decode` resolves references. */
const PARSER = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  cdataPropName: '#cdata',
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: LIMITS.depth,
  jPath: false,
});

/**
 * Parses a document and returns its root element. Throws ArgumentError for XML that is not well-formed, too
 * large or too deep, or that has a document type declaration.
 */
export function parseXml(bytes: Uint8Array): XmlElement {
  if (bytes.length > LIMITS.bytes) {
    throw argumentError(`The body is ${bytes.length} bytes long; the limit is ${LIMITS.bytes}.`);
  }
  const xml = decodeUtf8(bytes);
  if (/<!DOCTYPE/i.test(xml)) throw badXml('it holds a document type declaration');
  if (forbiddenInXml(xml) !== undefined) throw badXml('it holds a character that XML forbids');
  // Parsing costs more for each element than for its characters.
  requireAtMost('elements', startTags(xml));
  const validity = XMLValidator.validate(xml);
  if (validity !== true) throw badXml(invalidityOf(validity.err));
  const [root, ...others] = new ElementReader().read(parseOrdered(xml), OUTERMOST);
  if (root === undefined || others.length > 0) throw badXml('it must hold one root element');
  return root;
}

/** Where the text ends in which a `<` begins no tag, by how that text begins. */
const ENDS: Readonly<Record<string, string>> = { '<![CDATA[': ']]>', '<!--': '-->', '<?': '?>' };

/** The number of start tags, read without parsing. */
function startTags(xml: string): number {
  let count = 0;
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at + 1)) {
    const [, end] = Object.entries(ENDS).find(([begin]) => xml.startsWith(begin, at)) ?? [];
    if (end === undefined) {
      if (xml[at + 1] !== '/') count++;
      continue;
    }
    at = xml.indexOf(end, at);
    if (at < 0) break;
  }
  return count;
}

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

/** A node of the parser's result: an element under its name, its attributes under `:@`; or text. */
type OrderedNode = Readonly<Record<string, unknown>>;

/**
 * The namespaces in scope at an element, by prefix; '' is the default namespace. A scope has only the
 * declarations of its own element and refers to the outer scope for the rest: copies in every element would
 * cost declarations times elements.
 */
interface Scope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer?: Scope;
  /** The number of declarations, including those of outer scopes. */
  readonly declarations: number;
}

const OUTERMOST: Scope = { declared: new Map([['xml', XML_NAMESPACE]]), declarations: 0 };

function parseOrdered(xml: string): readonly OrderedNode[] {
  try {
    return PARSER.parse(xml) as readonly OrderedNode[];
  } catch (error) {
    if (error instanceof Error && error.message.startsWith(TOO_DEEP)) {
      throw badXml(`its elements are nested more than ${LIMITS.depth} deep`);
    }
    throw badXml(error instanceof Error ? error.message : 'it cannot be read');
  }
}

/**
 * How the parser's messages begin for elements that are too deep, and for unclosed ones, all of which it
 * lists.
 */
const TOO_DEEP = 'Maximum nested tags';
const NOT_CLOSED = "Invalid '[";

function invalidityOf({ msg, line }: { readonly msg: string; readonly line: number }): string {
  if (msg.startsWith(NOT_CLOSED)) return 'it ends before all of its elements are closed';
  return `${msg} (line ${line})`;
}

/** Converts the nodes of one document to elements, and counts them. */
class ElementReader {
  #elements = 0;
  #attributes = 0;

  /** Converts the elements among `nodes`. Throws ArgumentError. */
  read(nodes: readonly OrderedNode[], scope: Scope): readonly XmlElement[] {
    const elements: XmlElement[] = [];
    for (const node of nodes) {
      const name = Object.keys(node).find((key) => key !== ':@');
      if (name === undefined || name.startsWith('#')) continue;
      elements.push(this.#element(name, node, scope));
    }
    return elements;
  }

  #element(qualifiedName: string, node: OrderedNode, outer: Scope): XmlElement {
    const attributes = Object.entries((node[':@'] ?? {}) as Record<string, string>);
    this.#elements += 1;
    this.#attributes += attributes.length;
    requireAtMost('elements', this.#elements);
    requireAtMost('attributes', this.#attributes);
    const decoded = attributes.map(([name, value]) => [name, decode(value)] as const);
    const scope = scopeOf(decoded, outer);
    const nodes = node[qualifiedName] as readonly OrderedNode[];
    return {
      ...resolve(qualifiedName, scope, namespaceAt(scope, '') ?? ''),
      attributes: decoded
        .filter(([name]) => !isDeclaration(name))
        .map(([name, value]) => ({ ...resolve(name, scope, ''), value })),
      children: this.read(nodes, scope),
      text: nodes.map(textOf).join(''),
    };
  }
}

function requireAtMost(what: 'elements' | 'attributes' | 'declarations', count: number): void {
  if (count <= LIMITS[what]) return;
  const name = what === 'declarations' ? 'declarations of namespaces in force at once' : what;
  throw badXml(`it holds more than ${LIMITS[what]} ${name}`);
}

function textOf(node: OrderedNode): string {
  if (typeof node['#text'] === 'string') return decode(node['#text']);
  const [cdata] = (node['#cdata'] ?? []) as readonly OrderedNode[];
  return typeof cdata?.['#text'] === 'string' ? cdata['#text'] : '';
}

function isDeclaration(name: string): boolean {
  return name === 'xmlns' || name.startsWith('xmlns:');
}

/** The scope of an element with these attributes; the outer one where they declare no namespace. */
function scopeOf(attributes: readonly (readonly [string, string])[], outer: Scope): Scope {
  const declared = new Map(
    attributes
      .filter(([name]) => isDeclaration(name))
      .map(([name, value]) => [name.slice('xmlns:'.length), value]),
  );
  if (declared.size === 0) return outer;
  const declarations = outer.declarations + declared.size;
  requireAtMost('declarations', declarations);
  return { declared, outer, declarations };
}

/** The namespace of a prefix. */
function namespaceAt(scope: Scope, prefix: string): string | undefined {
  for (let each: Scope | undefined = scope; each !== undefined; each = each.outer) {
    const namespace = each.declared.get(prefix);
    if (namespace !== undefined) return namespace;
  }
  return undefined;
}

function resolve(qualifiedName: string, scope: Scope, unprefixed: string) {
  const colon = qualifiedName.indexOf(':');
  if (colon < 0) return { namespace: unprefixed, name: qualifiedName };
  const prefix = qualifiedName.slice(0, colon);
  const namespace = namespaceAt(scope, prefix);
  if (namespace === undefined) throw badXml(`the prefix '${prefix.slice(0, 40)}' is not declared`);
  return { namespace, name: qualifiedName.slice(colon + 1) };
}

const PREDEFINED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
const REFERENCE = /&(?:#(\d{1,7});|#x([0-9a-f]{1,6});|(amp|lt|gt|quot|apos);)?/gi;

/** Resolves the five predefined entities and character references; refuses all others. */
function decode(raw: string): string {
  return raw.replace(REFERENCE, (_, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return PREDEFINED[name] ?? badReference();
    const codePoint = Number.parseInt(decimal ?? hex ?? '', hex === undefined ? 10 : 16);
    if (!(codePoint <= 0x10ffff)) return badReference();
    const character = String.fromCodePoint(codePoint);
    return forbiddenInXml(character) === undefined ? character : badReference();
  });
}

function badReference(): never {
  throw badXml('it refers to an entity or a character that XML does not know');
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badXml(`it is not UTF-8 (${error instanceof Error ? error.message : ''})`);
  }
}

function badXml(why: string) {
  return argumentError(`The body is not XML that can be read: ${why.slice(0, REASON_LENGTH)}.`);
}
