import type { Entry, Section } from './kinds.ts';

/** Which ids are pinned, and by how many tests. */
export type Coverage = ReadonlyMap<string, number>;

/** What must be pinned before a session counts as done: queues, of 1–76, A, B, C and E. */
export function mustBeCovered({ id, kind }: Entry): boolean {
  return kind === 'queue' && (/^[ABCE]/.test(id) || Number(id) <= 76);
}

/** What must be pinned, is not, and has no excuse. */
export function missing(
  ledger: readonly Section[],
  coverage: Coverage,
  exceptions: Readonly<Record<string, string>>,
): readonly Entry[] {
  return ledger
    .flatMap(({ entries }) => entries)
    .filter(
      (entry) => mustBeCovered(entry) && !coverage.has(entry.id) && !(entry.id in exceptions),
    );
}

/** The whole ledger as lines: by section what is pinned, and what is not, each with its kind. */
export function linesOf(
  ledger: readonly Section[],
  coverage: Coverage,
  exceptions: Readonly<Record<string, string>>,
): readonly string[] {
  return ledger.flatMap((section) => sectionLines(section, coverage, exceptions));
}

function sectionLines(
  { title, entries }: Section,
  coverage: Coverage,
  exceptions: Readonly<Record<string, string>>,
): readonly string[] {
  const covered = entries.filter(({ id }) => coverage.has(id));
  const open = entries.filter(({ id }) => !coverage.has(id));
  return [
    '',
    `${title}: ${covered.length} of ${entries.length}`,
    ...(covered.length === 0 ? [] : [`  covered  ${ranges(entries, coverage)}`]),
    ...open.map(({ id, title: what, kind }) => {
      const reason = exceptions[id];
      return `  open     #${id} ${what} (${kind}${reason === undefined ? '' : `; ${reason}`})`;
    }),
  ];
}

/** `#1–#16 #18 #20–#21`: neighbours in the ledger are drawn together. */
function ranges(entries: readonly Entry[], coverage: Coverage): string {
  const runs: string[][] = [];
  let isOpen = false;
  for (const { id } of entries) {
    if (!coverage.has(id)) {
      isOpen = false;
      continue;
    }
    if (isOpen) runs.at(-1)?.push(id);
    else runs.push([id]);
    isOpen = true;
  }
  return runs.map((run) => (run.length > 1 ? `#${run[0]}–#${run.at(-1)}` : `#${run[0]}`)).join(' ');
}
