import type { Faults } from '../../../shared/config/faults.ts';
import { memberPath } from '../../../shared/config/fields.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { shortened } from '../../../shared/domain/fault-words.ts';
import { isExactNumber, isJsonObject, parseExactJson, plainNumber } from '../format/exact-json.ts';
import { isWellFormed, NOT_WELL_FORMED } from '../format/well-formed-text.ts';
import { forbiddenInXml } from '../format/xml-text.ts';

/** A JSON object. Its own members may have any name, also `__proto__`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The longest sentence about the faults of a body, in characters. */
const SENTENCE_LENGTH_MAX = 4000;
/** The longest place that a sentence about one text names. */
const PLACE_LENGTH_MAX = 300;

/**
 * Parses the JSON of an entity or a rule, which must be one object. Numbers keep their digits, as `parseExactJson`
 * says. Throws ArgumentError, also for an object that has a name twice, and for a text that UTF-8 cannot encode or XML
 * cannot represent.
 */
export function parseDescription(body: Uint8Array): JsonObject {
  const json = parseExactJson(body, 'The body');
  if (!isJsonObject(json) || isExactNumber(json)) {
    throw argumentError('The body must be a JSON object, with the properties as names and values.');
  }
  requirePlainObjects(new TextDecoder().decode(body));
  requireReadable(json, '');
  return json;
}

/** The strings of a JSON text, and the marks that tell where an object or list begins and ends. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/gs;

/**
 * Refuses an object that has a name twice: `JSON.parse` would take the last value without a word. Also one that looks
 * as `parseExactJson` writes numbers.
 */
function requirePlainObjects(text: string): void {
  const open: Set<string>[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === ':') addName(open.at(-1), last);
    else if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') {
      const names = open.pop();
      if (last.startsWith('"') && isNumberLike(names)) throw argumentError(NUMBER_LIKE);
    }
    last = token;
  }
}

const isNumberLike = (names: Set<string> | undefined) => names?.size === 1 && names.has('$number');
const NUMBER_LIKE =
  'The body has an object with the text "$number" alone, which means nothing: write a number as it is.';

function addName(names: Set<string> | undefined, token: string): void {
  const name = String(JSON.parse(token));
  if (names?.has(name)) {
    throw argumentError(
      `The body has the property ${token.slice(0, 64)} twice in one object: remove one.`,
    );
  }
  names?.add(name);
}

/**
 * Refuses texts and names that an answer in ATOM could not repeat, so that a client which sends such an answer back
 * would change them. The depth is bounded by `parseExactJson`.
 */
function requireReadable(value: unknown, at: string): void {
  if (typeof value === 'string') requireText(value, 'text', at);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${at}[${name}]` : memberPath(at, name);
    requireText(name, 'name', place);
    requireReadable(member, place);
  }
}

function requireText(text: string, what: 'text' | 'name', at: string): void {
  const forbidden = forbiddenInXml(text);
  if (forbidden === undefined) return;
  const code = forbidden.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const fault = isWellFormed(text)
    ? `has the character U+${code}, which XML cannot represent: remove it`
    : NOT_WELL_FORMED;
  throw argumentError(`${shortened(at, PLACE_LENGTH_MAX)}: The ${what} ${fault}.`);
}

/** A copy in which every number is a plain one, for values of which the spelling does not matter. */
export function plainNumbers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainNumbers);
  if (!isJsonObject(value) || isExactNumber(value)) return plainNumber(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, plainNumbers(member)]),
  );
}

/** Throws ArgumentError if there are faults, with all of them in one sentence of bounded length. */
export function requireNoFaults({ lines }: Faults): void {
  if (lines.length === 0) return;
  const text = shortened(lines.join(' '), SENTENCE_LENGTH_MAX);
  throw argumentError(lines.length === 1 ? text : `The body has several faults. ${text}`);
}
