/** A character that XML 1.0 forbids (production 2), most control characters among them. */
const FORBIDDEN = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu');

/** The first character of a text that XML 1.0 cannot represent, half of a surrogate pair among them. */
export function forbiddenInXml(text: string): string | undefined {
  return FORBIDDEN.exec(text)?.[0];
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#xD;',
};
const escaped = (character: string): string => ESCAPES[character] ?? character;

/**
 * Escapes the text of an element. A carriage return becomes a reference, since parsers convert a plain one to a line
 * feed. Characters that XML 1.0 cannot represent become the replacement character.
 */
export function escapeText(text: string): string {
  return text.replace(ALL_FORBIDDEN, '\ufffd').replace(/[&<>\r]/g, escaped);
}

/** Escapes the value of an attribute in double quotes, in the same way. */
export function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', escaped);
}
