/** The cells of a line of a table. */
export type Cells = readonly (string | number)[];

/** A table whose numbers stand to the right of its first column. */
export function table(titles: readonly string[], lines: readonly Cells[]): string {
  const cells = (line: Cells) => `| ${line.join(' | ')} |`;
  const rule = titles.map((_, i) => (i === 0 ? '---' : '---:'));
  return [titles, rule, ...lines].map(cells).join('\n');
}

/** Three decimals below ten, fewer above: beyond that they say nothing. */
export function short(value: number): string {
  return value.toFixed(value < 10 ? 3 : 1);
}

/** To two digits or three: the next run says something else. */
export function rounded(perSecond: number): string {
  return Number(perSecond.toPrecision(perSecond < 100 ? 2 : 3)).toLocaleString('en-US');
}
