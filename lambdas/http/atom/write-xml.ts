import { isXmlCharacter } from './xml.ts';

/** A piece of XML, already escaped. A type of its own, so that plain text cannot pass for one. */
export interface Xml {
  readonly xml: string;
}

type Attributes = Readonly<Record<string, string>>;

/**
 * An element that holds text, which is escaped here, or others; absent others are left out. Names are
 * ours and stand as given.
 */
export function element(
  name: string,
  content: string | readonly (Xml | undefined)[] = [],
  attributes: Attributes = {},
): Xml {
  const start = Object.entries(attributes).reduce(
    (tag, [key, value]) => `${tag} ${key}="${escapeXml(value)}"`,
    name,
  );
  const inner =
    typeof content === 'string'
      ? escapeXml(content)
      : content.map((one) => one?.xml ?? '').join('');
  return { xml: inner === '' ? `<${start}/>` : `<${start}>${inner}</${name}>` };
}

/** An element of text, left out where there is none. */
export function optional(name: string, text: string | undefined): Xml | undefined {
  return text === undefined ? undefined : element(name, text);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/**
 * Escapes text for elements and attributes. A carriage return is written as a reference, since readers
 * turn a plain one into a line feed. What XML 1.0 cannot hold becomes the replacement character.
 */
export function escapeXml(text: string): string {
  return Array.from(text, (character) => {
    if (character === '\r') return '&#xD;';
    if (!isXmlCharacter(character)) return '\ufffd';
    return ESCAPES[character] ?? character;
  }).join('');
}
