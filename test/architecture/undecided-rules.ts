/** The rules that no place in the product decides, with the reason, by page of docs/semantics. */
export const UNDECIDED_RULES: Readonly<Record<string, string>> = {
  // dead-letters
  '#C4': 'a dead-letter queue is stored and served as any queue',
  // http
  H3: 'no operation looks for parameters that it does not know',
};
