/** The rules that no place in the product decides, with the reason, by page of docs/semantics. */
export const UNDECIDED_RULES: Readonly<Record<string, string>> = {
  // dead-letters
  '#C4': 'a dead-letter queue is stored and served as any queue',
  // http
  H3: 'no operation looks for parameters that it does not know',
  // partitions
  '#P4': 'nothing charges for partitions or asks for an api-version',
  '#P8': 'advice to senders; no code depends on it',
  // quotas
  Q3: 'quotas that do not exist',
  // time-to-live
  '#A8': 'follows from #A5: a receiver comes too late',
};
