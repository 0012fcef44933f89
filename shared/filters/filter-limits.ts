/**
 * Limits of the filter language. Those of semantics R11 are the service's; the others protect against hostile
 * input.
 */
export const FILTER_LIMITS = {
  /** Statements in one rule action. */
  statements: 32,
  /** Nesting of parentheses, NOTs and signs. The parser recurses, so this bounds its stack. */
  depth: 100,
  /**
   * Characters that the parser accepts: more than a rule may have, since canonical text can be longer than
   * its source.
   */
  parsedLength: 4096,
  /** Characters of a LIKE pattern. It may come from a property, but may not be longer than a whole filter. */
  patternLength: 1024,
  /** Characters of a text that `+` makes: the size of the largest property value. */
  textLength: 32 * 1024,
  /** Characters of source text whose compiled filters are cached; the same for actions. */
  cachedCharacters: 256 * 1024,
} as const;
