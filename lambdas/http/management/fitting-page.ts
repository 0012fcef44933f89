import { LIMITS } from '../../../shared/domain/limits.ts';

/**
 * Prints the first items of a list as far as they fit into an answer together; the first one always. The list goes on
 * with the next one on another page. `textOf` = the text of a printed item; `bytesMax` = what they may take.
 */
export function fittingPage<Item, Printed>(
  items: readonly Item[],
  print: (item: Item) => Printed,
  textOf: (printed: Printed) => string,
  bytesMax: number = LIMITS.answerBytes,
): readonly Printed[] {
  const page: Printed[] = [];
  let bytes = 0;
  for (const item of items) {
    const printed = print(item);
    bytes += Buffer.byteLength(textOf(printed));
    if (bytes > bytesMax && page.length > 0) break;
    page.push(printed);
  }
  return page;
}
