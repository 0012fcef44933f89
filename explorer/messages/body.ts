/** A body as it is shown. */
export type ShownBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json' | 'text' | 'hex'; readonly text: string; readonly isCut: boolean };

/** Characters of a text, and bytes in hex, that are shown before somebody asks for all. */
const TEXT_MAX = 64 * 1024;
const HEX_MAX = 4 * 1024;
/** Longer JSON is shown as it came: to format it would stop the page for a moment. */
const FORMATTED_MAX = 1024 * 1024;
/** The most characters that are shown of all of a body, with the indents of its JSON. */
const ALL_MAX = 8 * 1024 * 1024;
/** The most bytes that are shown in hex: a browser takes long to lay out the many lines of more. */
const HEX_ALL_MAX = 256 * 1024;
/** Deeper JSON is not indented further: the indents of `[[[…` would be as long as the square of its length. */
const INDENTED_MAX = 40;
const HEX_WIDTH = 16;

/**
 * Shows a body: JSON with indents, other text as it is, and bytes that are no UTF-8 in hex. `isAll` = as much of it as
 * a page can show.
 */
export function showBody(body: Uint8Array, isAll = false): ShownBody {
  if (body.length === 0) return { kind: 'empty' };
  const text = textOf(body);
  if (text === undefined) {
    const most = isAll ? HEX_ALL_MAX : HEX_MAX;
    return { kind: 'hex', text: hexOf(body.subarray(0, most)), isCut: body.length > most };
  }
  const most = isAll ? ALL_MAX : TEXT_MAX;
  const json = formattedJson(text, most);
  const shown = json ?? text;
  return {
    kind: json === undefined ? 'text' : 'json',
    text: shown.slice(0, most),
    isCut: shown.length > most,
  };
}

/** The text of a body; undefined if it is no UTF-8. */
export function textOf(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/**
 * JSON with indents, undefined if it is none. The tokens stay as they were written, since `JSON.parse` would change
 * long numbers.
 */
function formattedJson(text: string, most: number): string | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > FORMATTED_MAX) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return indented(text, most);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Ends after somewhat more than `most` characters. */
function indented(json: string, most: number): string {
  const parts: string[] = [];
  let depth = 0;
  let length = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, INDENTED_MAX))}`;
  let before = '';
  for (const [token] of json.matchAll(TOKEN)) {
    if (length > most) break;
    if (token === '}' || token === ']') {
      depth--;
      parts.push(before === '{' || before === '[' ? token : line() + token);
    } else {
      if (before === '{' || before === '[' || before === ',') parts.push(line());
      parts.push(token === ':' ? ': ' : token);
      if (token === '{' || token === '[') depth++;
    }
    before = token;
    length += token.length + 2 * Math.min(depth, INDENTED_MAX);
  }
  return parts.join('');
}

function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += HEX_WIDTH) {
    const row = [...bytes.subarray(at, at + HEX_WIDTH)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row
      .map((byte) => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '·'))
      .join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(HEX_WIDTH * 3 - 1)}  ${text}`);
  }
  return lines.join('\n');
}
