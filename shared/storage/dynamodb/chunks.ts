/** Splits a list into lists of at most `size`. */
export function chunks<T>(list: readonly T[], size: number): T[][] {
  const runs: T[][] = [];
  for (let start = 0; start < list.length; start += size) {
    runs.push(list.slice(start, start + size));
  }
  return runs;
}
