/** The cells of a line of a table. */
export type Cells = readonly (string | number)[];

/** A table whose numbers stand to the right of its first column. */
export function table(titles: readonly string[], lines: readonly Cells[]): string {
  const cells = (line: Cells) => `| ${line.join(' | ')} |`;
  const rule = titles.map((_, i) => (i === 0 ? '---' : '---:'));
  return [titles, rule, ...lines].map(cells).join('\n');
}

/** Three decimals below ten, fewer above: further digits are noise. */
export function short(value: number): string {
  return value.toFixed(value < 10 ? 3 : 1);
}

/** Rounded to two or three digits, because further digits differ from run to run. */
export function rounded(perSecond: number): string {
  return Number(perSecond.toPrecision(perSecond < 100 ? 2 : 3)).toLocaleString('en-US');
}
