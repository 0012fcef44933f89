import type { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { badRequest } from './bad-request.ts';

/**
 * JSON in which numbers keep their spelling where it matters: `9007199254740993` loses digits as a
 * double, and `7.0` loses that it is one. `JSON.parse` tells us neither, and its access to the
 * source text comes only with Node 22, so such numbers are marked in the text before it is parsed.
 */

/** A number whose text says more than its value; made by `parseExactJson`. */
interface ExactNumber {
  readonly $number: string;
}

const { jsonValues: VALUES_MAX, jsonDepth: DEPTH_MAX, jsonFields: FIELDS_MAX } = BUDGETS.request;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** By the code of a character outside of strings: what it stands for. */
const MARKS = byCode({
  ',': 'next',
  ':': 'field',
  '[': 'begin',
  '{': 'begin',
  ']': 'end',
  '}': 'end',
});

/** Cheap to look for; where nothing looks like such a number, the text is parsed as it stands. */
const SUSPECT = /[\s:,[]-?(?:\d{16}|\d+\.0|\d+(?:\.\d+)?[eE])/;
const NUMBER_OR_QUOTE = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses UTF-8 JSON. `what` begins the sentence of the refusal. Throws ArgumentError. */
export function parseExactJson(source: Uint8Array | string, what: string): unknown {
  const text = typeof source === 'string' ? source : decode(source, what);
  requireBounded(text, what);
  try {
    return JSON.parse(SUSPECT.test(text) ? markNumbers(text) : text);
  } catch (error) {
    throw badRequest(`${what} is not valid JSON.`, error);
  }
}

/**
 * Refuses a text of which parsing would make more values, or larger or deeper ones, than `BUDGETS.request`
 * allows: a few bytes of text become many of memory. It looks at each character once.
 */
function requireBounded(text: string, what: string): void {
  const shape = new Shape(what);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i) - 1;
    } else {
      const mark = MARKS[code];
      if (mark !== undefined) shape.take(mark);
    }
  }
}

type Mark = 'begin' | 'end' | 'next' | 'field';

/** Counts what a JSON text holds, as far as it has been read. */
class Shape {
  readonly #what: string;
  /** The fields so far of each list and object that has begun and not ended; lists have none. */
  readonly #fields: number[] = [0];
  #values = 1;

  constructor(what: string) {
    this.#what = what;
  }

  take(mark: Mark): void {
    if (mark === 'begin') this.#fields.push(0);
    if (mark === 'end' && this.#fields.length > 1) this.#fields.pop();
    if (mark === 'field') this.#addField();
    if (mark === 'begin' || mark === 'next') this.#values++;
    if (this.#values > VALUES_MAX) throw this.#refusal(`more than ${VALUES_MAX} values`);
    // The first one stands for the whole text.
    if (this.#fields.length - 1 > DEPTH_MAX) {
      throw this.#refusal(`values more than ${DEPTH_MAX} lists and objects deep`);
    }
  }

  #addField(): void {
    const fields = (this.#fields.at(-1) ?? 0) + 1;
    this.#fields[this.#fields.length - 1] = fields;
    if (fields > FIELDS_MAX) throw this.#refusal(`an object of more than ${FIELDS_MAX} fields`);
  }

  #refusal(sight: string): BrokerError {
    return badRequest(`${this.#what} holds ${sight}. Send fewer in one request.`);
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
    throw badRequest(`${what} is not valid UTF-8.`, error);
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

/** The place after the quote that closes the string which begins at `start`. */
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

/** Whether a parsed value is a number that kept its text. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return (
    isJsonObject(value) && typeof value['$number'] === 'string' && Object.keys(value).length === 1
  );
}

/** A kept number as a plain one, for fields where spelling says nothing; all else unchanged. */
export function plainNumber(value: unknown): unknown {
  return isExactNumber(value) ? Number(value.$number) : value;
}

/** Whether a parsed value is an object, and no list. Its own keys may have any name. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
