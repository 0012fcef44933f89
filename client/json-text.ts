/**
 * Reads JSON without changing it. `JSON.parse` turns 9007199254740993 into another number and 7.0, a double, into 7, an
 * int, so messages are kept as the text that the service has written.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** The elements of a JSON array, each as its own text. The text must be valid JSON. */
export function elementsOf(array: string): readonly string[] {
  return partsOf(array);
}

/** The members of a JSON object: the text of each value by its name. The text must be valid JSON. */
export function membersOf(object: string): ReadonlyMap<string, string> {
  return new Map(
    partsOf(object).map((part) => {
      const end = endOfString(part, 0);
      const name = String(JSON.parse(part.slice(0, end)));
      return [name, part.slice(part.indexOf(':', end) + 1).trim()];
    }),
  );
}

/** The texts between the commas of the outermost array or object. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i) - 1;
    } else if (OPENING.has(code)) {
      if (depth++ === 0) start = i + 1;
    } else if (CLOSING.has(code)) {
      if (--depth === 0) parts.push(text.slice(start, i));
    } else if (code === COMMA && depth === 1) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code === BACKSLASH) i++;
  }
  return text.length;
}
