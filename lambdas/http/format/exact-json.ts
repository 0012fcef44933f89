import { argumentError, type BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

/**
 * A JSON number that keeps its text: `9007199254740993` loses digits as a double, and `7.0` loses the
 * information that it is one. `JSON.parse` gives access to the source text only from Node 22 on, so
 * `parseExactJson` replaces such numbers in the text by these objects before it parses.
 */
interface ExactNumber {
  readonly $number: string;
}

const { jsonValues: VALUES_MAX, jsonDepth: DEPTH_MAX, jsonFields: FIELDS_MAX } = BUDGETS.request;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The meaning of each structural character outside of strings, by character code. */
const MARKS = byCode({
  ',': 'next',
  ':': 'field',
  '[': 'begin',
  '{': 'begin',
  ']': 'end',
  '}': 'end',
});

/** A cheap test: without a match no number needs its text, and the JSON is parsed unchanged. */
const SUSPECT = /[\s:,[]-?(?:\d{16}|\d+\.0|\d+(?:\.\d+)?[eE])/;
const NUMBER_OR_QUOTE = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses UTF-8 JSON. Numbers that lose information as doubles become ExactNumbers. `what` begins the
 * sentence of the refusal. Throws ArgumentError, also where the JSON exceeds the bounds of
 * `BUDGETS.request`.
 */
export function parseExactJson(source: Uint8Array | string, what: string): unknown {
  const text = typeof source === 'string' ? source : decode(source, what);
  requireBounded(text, what);
  try {
    return JSON.parse(SUSPECT.test(text) ? markNumbers(text) : text);
  } catch (error) {
    throw argumentError(`${what} is not valid JSON.`, error);
  }
}

/**
 * Refuses a text that parses into more, larger or deeper values than `BUDGETS.request` allows, since few
 * bytes of text can become many bytes of memory. It reads each character once.
 */
function requireBounded(text: string, what: string): void {
  const counter = new JsonCounter(what);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i) - 1;
    } else {
      const mark = MARKS[code];
      if (mark !== undefined) counter.count(mark);
    }
  }
}

type Mark = 'begin' | 'end' | 'next' | 'field';

/** Counts the values, fields and depth of a JSON text while it is read. */
class JsonCounter {
  readonly #what: string;
  /**
   * The number of fields so far of each open array or object; 0 for an array. The first is the whole text.
   */
  readonly #fields: number[] = [0];
  #values = 1;

  constructor(what: string) {
    this.#what = what;
  }

  count(mark: Mark): void {
    if (mark === 'begin') this.#fields.push(0);
    if (mark === 'end' && this.#fields.length > 1) this.#fields.pop();
    if (mark === 'field') this.#addField();
    if (mark === 'begin' || mark === 'next') this.#values++;
    if (this.#values > VALUES_MAX) throw this.#tooMany(`more than ${VALUES_MAX} values`);
    if (this.#fields.length - 1 > DEPTH_MAX) {
      throw argumentError(
        `${this.#what} holds values more than ${DEPTH_MAX} lists and objects deep.`,
      );
    }
  }

  #addField(): void {
    const fields = (this.#fields.at(-1) ?? 0) + 1;
    this.#fields[this.#fields.length - 1] = fields;
    if (fields > FIELDS_MAX) throw this.#tooMany(`an object of more than ${FIELDS_MAX} fields`);
  }

  #tooMany(excess: string): BrokerError {
    return argumentError(`${this.#what} holds ${excess}. Send fewer in one request.`);
  }
}

function byCode(marks: Readonly<Record<string, Mark>>): readonly (Mark | undefined)[] {
  const table = new Array<Mark | undefined>(0x80).fill(undefined);
  for (const [character, mark] of Object.entries(marks)) table[character.charCodeAt(0)] = mark;
  return table;
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw argumentError(`${what} is not valid UTF-8.`, error);
  }
}

function markNumbers(text: string): string {
  const pieces: string[] = [];
  let copied = 0;
  NUMBER_OR_QUOTE.lastIndex = 0;
  for (let match = NUMBER_OR_QUOTE.exec(text); match; match = NUMBER_OR_QUOTE.exec(text)) {
    const [token] = match;
    if (token === '"') {
      NUMBER_OR_QUOTE.lastIndex = endOfString(text, match.index);
    } else if (changesAsDouble(token)) {
      pieces.push(text.slice(copied, match.index), `{"$number":"${token}"}`);
      copied = match.index + token.length;
    }
  }
  pieces.push(text.slice(copied));
  return pieces.join('');
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

function changesAsDouble(token: string): boolean {
  const value = Number(token);
  return /[.eE]/.test(token) ? Number.isInteger(value) : !Number.isSafeInteger(value);
}

/** Whether a parsed value is an ExactNumber. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return (
    isJsonObject(value) && typeof value['$number'] === 'string' && Object.keys(value).length === 1
  );
}

/**
 * Converts an ExactNumber to a number, for fields where its text does not matter; returns others unchanged.
 */
export function plainNumber(value: unknown): unknown {
  return isExactNumber(value) ? Number(value.$number) : value;
}

/** Whether a parsed value is an object, not an array. Its own keys may have any name, also `__proto__`. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
