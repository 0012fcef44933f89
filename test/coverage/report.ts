import type { Page } from './rules.ts';

/** Which ids are named, and by how many tests. */
export type Coverage = ReadonlyMap<string, number>;

/** Whether the names of tests carry an id. */
export function isNamedByTests(id: string): boolean {
  return id.startsWith('#');
}

/** The ids that tests name, page by page, and those that no test names, each with its rule. */
export function linesOf(pages: readonly Page[], coverage: Coverage): readonly string[] {
  return pages.flatMap(({ title, rules }) => {
    const ids = rules.flatMap((rule) => rule.ids).filter(isNamedByTests);
    const covered = ids.filter((id) => coverage.has(id));
    return [
      `${title}: ${covered.length} of ${ids.length}`,
      ...missing([{ title, rules }], coverage).map((line) => `  open  ${line}`),
    ];
  });
}

/** The ids that a test should name and none does, each with its rule. */
export function missing(pages: readonly Page[], coverage: Coverage): readonly string[] {
  return pages.flatMap(({ rules }) =>
    rules.flatMap(({ ids, title }) =>
      ids.filter((id) => isNamedByTests(id) && !coverage.has(id)).map((id) => `${id} ${title}`),
    ),
  );
}
