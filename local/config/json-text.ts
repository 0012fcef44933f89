import { CONFIG_LIMITS } from '../../shared/config/config-limits.ts';
import { ConfigError } from './config-error.ts';

/** A piece of JSON: white space, a text, a number or word, or a sign. */
const TOKEN =
  /[ \t\r\n]*(?:(?<text>"[^"\\\n]*(?:\\.[^"\\\n]*)*")|(?<scalar>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w))|(?<sign>[{}[\],:])|(?<end>$))/y;

/**
 * Parses JSON. A byte order mark at its start is ignored. Unlike `JSON.parse` it says at which line and column what is
 * wrong, and refuses an object that has a name twice. Throws ConfigError.
 */
export function parseJson(text: string): unknown {
  return new JsonReader(text.startsWith('\ufeff') ? text.slice(1) : text).whole();
}

type TokenKind = 'text' | 'scalar' | 'sign' | 'end';

class JsonReader {
  readonly #text: string;
  #at = 0;
  /** The next token, and where it begins. */
  #token = '';
  #start = 0;
  #kind: TokenKind = 'end';

  constructor(text: string) {
    this.#text = text;
    this.#next();
  }

  whole(): unknown {
    const value = this.#value(0);
    if (this.#kind !== 'end') throw this.#fault('The JSON ends before this: remove it.');
    return value;
  }

  #next(): void {
    TOKEN.lastIndex = this.#at;
    const { groups = {} } = TOKEN.exec(this.#text) ?? {};
    const kind = (['text', 'scalar', 'sign', 'end'] as const).find(
      (each) => groups[each] !== undefined,
    );
    if (kind === undefined) throw this.#unreadable();
    this.#at = TOKEN.lastIndex;
    this.#kind = kind;
    this.#token = groups[kind] ?? '';
    this.#start = this.#at - this.#token.length;
  }

  #unreadable(): ConfigError {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++;
    this.#start = this.#at;
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest === '//' || rest === '/*')
      return this.#fault('JSON has no comments: remove this one.');
    if (rest.startsWith('"')) {
      return this.#fault('This text does not end in its line.');
    }
    if (rest.startsWith("'")) return this.#fault('JSON has double quotes around texts and names.');
    return this.#fault('This is neither a value nor a sign of JSON.');
  }

  #value(depth: number): unknown {
    if (depth > CONFIG_LIMITS.depth) {
      throw this.#fault(
        `More than ${CONFIG_LIMITS.depth} objects and lists are within each other.`,
      );
    }
    if (this.#isAt('{')) return this.#object(depth);
    if (this.#isAt('[')) return this.#list(depth);
    if (this.#kind !== 'text' && this.#kind !== 'scalar') throw this.#fault('A value is missing.');
    const value = this.#parsed();
    this.#next();
    return value;
  }

  #isAt(sign: string): boolean {
    return this.#kind === 'sign' && this.#token === sign;
  }

  /** The value of a text, number or word. */
  #parsed(): unknown {
    try {
      return JSON.parse(this.#token);
    } catch {
      throw this.#fault('This text has a control character, or an escape that JSON does not know.');
    }
  }

  #object(depth: number): unknown {
    const members = new Map<string, unknown>();
    this.#each('}', 'a name', () => {
      if (this.#kind !== 'text') throw this.#fault('A name in double quotes is missing.');
      const name = String(this.#parsed());
      if (members.has(name)) throw this.#fault(`The name ${this.#token} is in this object twice.`);
      this.#next();
      if (!this.#isAt(':')) throw this.#fault('A colon is missing after the name.');
      this.#next();
      members.set(name, this.#value(depth + 1));
    });
    return Object.fromEntries(members);
  }

  #list(depth: number): unknown {
    const list: unknown[] = [];
    this.#each(']', 'a value', () => list.push(this.#value(depth + 1)));
    return list;
  }

  /** Reads the members between an opening sign, at which the reader is, and its closing sign. */
  #each(close: '}' | ']', what: string, readOne: () => void): void {
    this.#next();
    if (!this.#isAt(close)) this.#members(close, what, readOne);
    this.#next();
  }

  #members(close: '}' | ']', what: string, readOne: () => void): void {
    readOne();
    while (!this.#isAt(close)) {
      if (!this.#isAt(',')) throw this.#fault(`A comma or ${close} is missing before this.`);
      this.#next();
      if (this.#isAt(close))
        throw this.#fault(`After a comma JSON needs ${what}: remove the comma.`);
      readOne();
    }
  }

  #fault(sentence: string): ConfigError {
    const before = this.#text.slice(0, this.#start).split('\n');
    const column = (before.at(-1) ?? '').length + 1;
    return new ConfigError([`Line ${before.length}, column ${column}: ${sentence}`]);
  }
}
