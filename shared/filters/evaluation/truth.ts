/** A truth value of three-valued logic; unknown is `undefined` (semantics R12). Only true is a match. */
export type Truth = boolean | undefined;

/** False if either side is false, else unknown if either is unknown. */
export function and(left: Truth, right: Truth): Truth {
  if (left === false || right === false) return false;
  return left === undefined || right === undefined ? undefined : true;
}

/** True if either side is true, else unknown if either is unknown. */
export function or(left: Truth, right: Truth): Truth {
  if (left === true || right === true) return true;
  return left === undefined || right === undefined ? undefined : false;
}

/** The negation; that of unknown is unknown (semantics #106). */
export function not(value: Truth): Truth {
  return value === undefined ? undefined : !value;
}
