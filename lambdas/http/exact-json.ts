import { BrokerError } from '../../shared/domain/broker-error.ts';

/**
 * JSON in which numbers keep their spelling where it matters: `9007199254740993` loses digits as a
 * double, and `7.0` loses that it is one. `JSON.parse` tells us neither, and its access to the
 * source text comes only with Node 22, so such numbers are marked in the text before it is parsed.
 */

/** A number whose text says more than its value; made by `parseExactJson`. */
interface ExactNumber {
  readonly $number: string;
}

/** Cheap to look for; where nothing looks like such a number, the text is parsed as it stands. */
const SUSPECT = /[\s:,[]-?(?:\d{16}|\d+\.0|\d+(?:\.\d+)?[eE])/;
const NUMBER_OR_QUOTE = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses UTF-8 JSON. `what` begins the sentence of the refusal. Throws ArgumentError. */
export function parseExactJson(source: Uint8Array | string, what: string): unknown {
  const text = typeof source === 'string' ? source : decode(source, what);
  try {
    return JSON.parse(SUSPECT.test(text) ? markNumbers(text) : text);
  } catch (error) {
    throw new BrokerError('ArgumentError', `${what} is not valid JSON.`, {
      cause: error,
      subCode: '40000',
    });
  }
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BrokerError('ArgumentError', `${what} is not valid UTF-8.`, {
      cause: error,
      subCode: '40000',
    });
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

/** The place after the closing quote: the first one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let run = quote;
    while (text[run - 1] === '\\') run--;
    if ((quote - run) % 2 === 0) return quote + 1;
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
