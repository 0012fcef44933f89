/** True, false or unknown; unknown is `undefined` (semantics R12). A filter matches only on true. */
export type Truth = boolean | undefined;

/** False if either is, else unknown if either is. */
export function and(left: Truth, right: Truth): Truth {
  if (left === false || right === false) return false;
  return left === undefined || right === undefined ? undefined : true;
}

/** True if either is, else unknown if either is. */
export function or(left: Truth, right: Truth): Truth {
  if (left === true || right === true) return true;
  return left === undefined || right === undefined ? undefined : false;
}

/** Unknown stays unknown. */
export function not(value: Truth): Truth {
  return value === undefined ? undefined : !value;
}
