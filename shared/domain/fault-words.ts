/** The words in which an error about a setting repeats values, lists names and suggests others. */

/** How many characters of a wrong value an error repeats. */
const SHOWN_LENGTH_MAX = 60;
/** Names that differ by more edits are not similar. */
const EDITS_MAX = 3;

/** `a, b or c` */
export function listed(words: readonly (string | number)[], conjunction: 'and' | 'or'): string {
  const last = words.at(-1) ?? '';
  return words.length < 2
    ? String(last)
    : `${words.slice(0, -1).join(', ')} ${conjunction} ${last}`;
}

/** A number with its noun: `1 message`, `2 messages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `value` in a sentence: as JSON, or by its kind only, since it may be nested too deeply to be printed. */
export function shown(value: unknown): string {
  const printed = asText(value);
  return printed.length <= SHOWN_LENGTH_MAX ? printed : `${printed.slice(0, SHOWN_LENGTH_MAX)}…`;
}

/** The kind of `value` in a sentence, where the value itself may hold a key. */
export function kindShown(value: unknown): string {
  if (typeof value === 'string') return 'a text';
  if (Array.isArray(value)) return 'a list';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function asText(value: unknown): string {
  // JSON has no text for NaN and Infinity.
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    if (Array.isArray(value)) return 'a list';
    // A bigint has no JSON, nor has an object within itself.
    return typeof value === 'object' ? 'an object' : String(value);
  }
}

/** What to do about an unknown name: use the similar known name, or remove it. */
export function correction(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known);
  return nearest === undefined ? 'remove it' : `write ${nearest} instead, or remove it`;
}

/** The known name most similar to `name`, if one is similar. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .filter((one) => Math.abs(one.length - name.length) <= EDITS_MAX)
    .map((one) => ({ one, edits: editsBetween(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ one, edits }) => edits <= Math.min(EDITS_MAX, one.length / 2))
    .sort((a, b) => a.edits - b.edits);
  return nearest?.one;
}

/** The number of letters to add, remove or change (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const changed = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** A text of at most so many characters, or its beginning. */
export function shortened(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
}
