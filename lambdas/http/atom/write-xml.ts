import { escapeAttribute, escapeText } from '../format/xml-text.ts';

/** A fragment of XML, already escaped. It is a type of its own, so that unescaped text is not used as XML. */
export interface Xml {
  readonly xml: string;
}

type Attributes = Readonly<Record<string, string>>;

/**
 * Writes an element with text, which is escaped, or with child elements, without the undefined ones. `name`
 * and the names of attributes are not escaped.
 */
export function element(
  name: string,
  content: string | readonly (Xml | undefined)[] = [],
  attributes: Attributes = {},
): Xml {
  const start = Object.entries(attributes).reduce(
    (tag, [key, value]) => `${tag} ${key}="${escapeAttribute(value)}"`,
    name,
  );
  const inner =
    typeof content === 'string'
      ? escapeText(content)
      : content.map((child) => child?.xml ?? '').join('');
  return { xml: inner === '' ? `<${start}/>` : `<${start}>${inner}</${name}>` };
}

/** Writes an element with text; undefined where there is no text. */
export function optional(name: string, text: string | undefined): Xml | undefined {
  return text === undefined ? undefined : element(name, text);
}
