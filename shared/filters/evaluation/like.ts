import type { Fail } from '../filter-error.ts';
import { FILTER_LIMITS } from '../filter-limits.ts';

/** Matches a text against one pattern. */
export type LikeMatcher = (text: string) => boolean;

/** The part of a pattern between two `%`: for each character its UTF-16 unit, or ANY for `_`. */
type Segment = readonly number[];
const ANY = -1;

const WORD_BITS = 31;
/** A segment up to this length is found faster by `indexOf`, whose worst case is then still small. */
const PLAIN_LENGTH_MAX = 16;

/**
 * Compiles a LIKE pattern: `%` matches any number of characters, `_` any one UTF-16 unit (as in .NET), and
 * the character after the escape character stands for itself. The comparison is case-sensitive (semantics
 * #109, R18).
 *
 * The matcher searches the segments between `%` from left to right, each at its first occurrence, without
 * backtracking. That is correct for these patterns, and keeps `'%a%a%a%a%'` cheap: a segment costs at most
 * text length × segment length ÷ 31 steps.
 *
 * Throws FilterError for an escape text that is not one character, for an escape character at the end of the
 * pattern, and for a pattern longer than a filter may be. The matcher throws it if its search would take more
 * than `stepsMax` steps.
 */
export function likeMatcher(
  pattern: string,
  escapeCharacter: string | undefined,
  fail: Fail,
  stepsMax = Number.POSITIVE_INFINITY,
): LikeMatcher {
  if (escapeCharacter !== undefined && escapeCharacter.length !== 1) {
    throw fail(`ESCAPE takes one character, not ${escapeCharacter.length}.`);
  }
  if (pattern.length > FILTER_LIMITS.patternLength) {
    throw fail(`a LIKE pattern may be ${FILTER_LIMITS.patternLength} characters long at most.`);
  }
  const segments = split(pattern, escapeCharacter, fail);
  const first = segments[0] ?? [];
  const last = segments[segments.length - 1] ?? [];
  if (segments.length === 1) {
    return (text) => text.length === first.length && matchesAt(text, 0, first);
  }
  const inner = segments.slice(1, -1).filter((segment) => segment.length > 0);
  const stepsEach = Math.max(0, ...inner.map(stepsForOne));
  const searches = inner.map(search);
  return (text) => {
    if (text.length * stepsEach > stepsMax) {
      throw fail(
        `a text of ${text.length} characters is too long to be searched for a pattern of ${pattern.length}.`,
      );
    }
    const end = text.length - last.length;
    if (end < first.length || !matchesAt(text, 0, first)) return false;
    if (!matchesAt(text, end, last)) return false;
    let at = first.length;
    for (const find of searches) {
      at = find(text, at, end);
      if (at === -1) return false;
    }
    return true;
  };
}

function split(
  pattern: string,
  escapeCharacter: string | undefined,
  fail: Fail,
): readonly Segment[] {
  const segments: number[][] = [];
  let current: number[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === escapeCharacter) {
      at += 1;
      if (at === pattern.length) throw fail('nothing follows the escape character of the pattern.');
      current.push(pattern.charCodeAt(at));
    } else if (character === '%') {
      segments.push(current);
      current = [];
    } else {
      current.push(character === '_' ? ANY : pattern.charCodeAt(at));
    }
  }
  segments.push(current);
  return segments;
}

function matchesAt(text: string, at: number, segment: Segment): boolean {
  for (let index = 0; index < segment.length; index += 1) {
    const unit = segment[index];
    if (unit !== ANY && unit !== text.charCodeAt(at + index)) return false;
  }
  return true;
}

/** Finds a segment in text[from, end); returns the offset behind it, or -1. */
type Search = (text: string, from: number, end: number) => number;

function isPlain(segment: Segment): boolean {
  return segment.length <= PLAIN_LENGTH_MAX && !segment.includes(ANY);
}

/** The steps of a search for each character of the text. */
function stepsForOne(segment: Segment): number {
  return isPlain(segment) ? 1 : Math.ceil(segment.length / WORD_BITS);
}

function search(segment: Segment): Search {
  if (isPlain(segment)) {
    const plain = String.fromCharCode(...segment);
    return (text, from, end) => {
      const at = text.indexOf(plain, from);
      return at === -1 || at + plain.length > end ? -1 : at + plain.length;
    };
  }
  return shiftAnd(segment);
}

/**
 * The shift-and search: bit i of the state means that the last i + 1 characters match the start of the
 * segment. Each character costs one step for each word of 31 bits; `_` costs nothing extra.
 */
function shiftAnd(segment: Segment): Search {
  const words = Math.ceil(segment.length / WORD_BITS);
  const anywhere = new Int32Array(words);
  segment.forEach((unit, index) => {
    if (unit === ANY) setBit(anywhere, index);
  });
  const masks = new Map<number, Int32Array>();
  segment.forEach((unit, index) => {
    if (unit === ANY) return;
    const mask = masks.get(unit) ?? anywhere.slice();
    setBit(mask, index);
    masks.set(unit, mask);
  });
  const lastWord = words - 1;
  const lastBit = 1 << ((segment.length - 1) % WORD_BITS);
  return (text, from, end) => {
    const state = new Int32Array(words);
    for (let at = from; at < end; at += 1) {
      const mask = masks.get(text.charCodeAt(at)) ?? anywhere;
      advance(state, mask);
      if (((state[lastWord] ?? 0) & lastBit) !== 0) return at + 1;
    }
    return -1;
  };
}

function setBit(mask: Int32Array, index: number): void {
  const word = Math.floor(index / WORD_BITS);
  mask[word] = (mask[word] ?? 0) | (1 << (index % WORD_BITS));
}

function advance(state: Int32Array, mask: Int32Array): void {
  let carry = 1;
  for (let word = 0; word < state.length; word += 1) {
    const before = state[word] ?? 0;
    state[word] = ((before << 1) | carry) & 0x7fffffff & (mask[word] ?? 0);
    carry = (before >>> (WORD_BITS - 1)) & 1;
  }
}
