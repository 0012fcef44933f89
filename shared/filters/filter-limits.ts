/** Bounds of the filter language. A client can meet those of semantics R11; the rest keeps hostile input cheap. */
export const FILTER_LIMITS = {
  /** Expressions in one rule action. */
  statements: 32,
  /** Parentheses, NOTs and signs inside one another. The parser recurses, so this bounds its stack. */
  depth: 100,
  /** The parser reads a little more than a rule may hold, since canonical text can be longer than its source. */
  parsedLength: 4096,
  /** A LIKE pattern may come from a property; it may not be longer than a whole filter. */
  patternLength: 1024,
  /** Characters of a text that `+` makes: the size of the largest property value. */
  textLength: 32 * 1024,
  /** Compiled filters and actions are kept up to this many characters of source. */
  cachedCharacters: 256 * 1024,
} as const;
