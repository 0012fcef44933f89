/**
 * The exception names the service shows: they become the dead-letter reason of a message whose
 * filter or action failed (semantics T9).
 */
export type FilterErrorName = 'FilterException' | 'RuleActionException';

/** A spot in an expression. */
export interface Place {
  readonly text: string;
  /** Offset in UTF-16 units, from 0. */
  readonly at: number;
}

/**
 * The only error of the filter language, from reading a text to running it. Its message starts
 * with the line and column and says what was expected or what went wrong there.
 */
export class FilterError extends Error {
  /** The dead-letter reason this error leads to. */
  readonly typeName: FilterErrorName;
  /** The sentence without the place in front. */
  readonly reason: string;
  /** Offset in the expression in UTF-16 units, from 0. */
  readonly position: number;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;

  constructor(reason: string, place: Place, typeName: FilterErrorName = 'FilterException') {
    const before = place.text.slice(0, place.at);
    const line = before.split('\n').length;
    const column = place.at - before.lastIndexOf('\n');
    super(`Line ${line}, column ${column}: ${reason}`);
    this.name = 'FilterError';
    this.typeName = typeName;
    this.reason = reason;
    this.position = place.at;
    this.line = line;
    this.column = column;
  }
}

/** Makes the error of one spot; the caller throws it. */
export type Fail = (reason: string) => FilterError;

/** Binds a spot to its error, so that code far from the text can still name it. */
export function failAt(text: string, at: number, typeName?: FilterErrorName): Fail {
  return (reason) => new FilterError(reason, { text, at }, typeName);
}
