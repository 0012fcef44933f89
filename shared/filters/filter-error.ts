/**
 * The service's names for errors of filters and actions. The name becomes the dead-letter reason of a message
 * for which a filter or action failed (semantics T9).
 */
export type FilterErrorName = 'FilterException' | 'RuleActionException';

/** A position in an expression. */
export interface Position {
  readonly text: string;
  /** Offset in UTF-16 units, from 0. */
  readonly at: number;
}

/**
 * The error of the filter language, for parsing and for evaluation. Its message begins with line and column,
 * and says what was expected or what failed there.
 */
export class FilterError extends Error {
  /** The dead-letter reason that this error leads to. */
  readonly typeName: FilterErrorName;
  /** The message without line and column. */
  readonly reason: string;
  /** Offset in the expression in UTF-16 units, from 0. */
  readonly position: number;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;

  constructor(reason: string, position: Position, typeName: FilterErrorName = 'FilterException') {
    const before = position.text.slice(0, position.at);
    const line = before.split('\n').length;
    const column = position.at - before.lastIndexOf('\n');
    super(`Line ${line}, column ${column}: ${reason}`);
    this.name = 'FilterError';
    this.typeName = typeName;
    this.reason = reason;
    this.position = position.at;
    this.line = line;
    this.column = column;
  }
}

/**
 * Creates an error for one position in an expression. It does not throw it: the caller writes
 * `throw fail(…)`.
 */
export type Fail = (reason: string) => FilterError;

/** Creates a `Fail` for a position, so that compiled code can report it without access to the text. */
export function failAt(text: string, at: number, typeName?: FilterErrorName): Fail {
  return (reason) => new FilterError(reason, { text, at }, typeName);
}
