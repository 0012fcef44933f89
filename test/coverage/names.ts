import { literalsOf } from './literals.ts';

/** A text that begins with the ids of what it pins: the name of a test, or a row of a table of tests. */
export interface NamedTest {
  readonly name: string;
  readonly ids: readonly string[];
}

/** `#41`, `#A2`, `#E1`, one after the other at the very beginning. */
const IDS = /^(?:#(?:[1-9]\d{0,2}|[A-Z][1-9]\d?)\s+)+/;
const NOT_RUN = /\.(?:skip|todo)\s*\(\s*$/;

/** The tests of a source file that name what they pin. What is not run is not among them. */
export function namedTests(source: string): readonly NamedTest[] {
  return literalsOf(source).flatMap(({ text, before }) => {
    const ids = IDS.exec(text)?.[0];
    if (ids === undefined || NOT_RUN.test(before)) return [];
    return [
      {
        name: text,
        ids: ids
          .trim()
          .split(/\s+/)
          .map((id) => id.slice(1)),
      },
    ];
  });
}
