import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('RESULTS.md', import.meta.url));
/** The section that stands last, where no other is named. */
const LAST = '## How fast filters are';

/** Writes all results anew. */
export function keepResults(report: string): void {
  writeFileSync(FILE, report);
  console.log(`\nWritten to ${FILE}`);
}

/** Writes one section anew, which begins with its title; one that is new goes before the last. */
export function replaceSection(title: string, section: string): void {
  const results = readFileSync(FILE, 'utf8');
  const known = results.indexOf(title);
  const start = known < 0 ? results.indexOf(LAST) : known;
  const next = known < 0 ? start : results.indexOf('\n## ', start + title.length) + 1;
  keepResults(`${results.slice(0, start)}${section}\n${results.slice(next)}`);
}
