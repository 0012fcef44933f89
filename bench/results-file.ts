import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('RESULTS.md', import.meta.url));
/** The section that stands last, where no other is named. */
const LAST = '## How fast filters are';

/** Measured by runs of their own, so that no other run has them. */
const APART = ['## Under attack'];

/** Writes all results anew, but for what is measured apart. */
export function keepResults(report: string): void {
  const before = readFileSync(FILE, 'utf8');
  const kept = APART.filter((title) => !report.includes(title)).map((title) =>
    sectionOf(before, title),
  );
  const last = report.indexOf(LAST);
  writeResults(`${report.slice(0, last)}${kept.join('')}${report.slice(last)}`);
}

/** A section with its title, up to the next one; nothing where it is missing. */
function sectionOf(results: string, title: string): string {
  const start = results.indexOf(title);
  if (start < 0) return '';
  return results.slice(start, results.indexOf('\n## ', start + title.length) + 1);
}

function writeResults(results: string): void {
  writeFileSync(FILE, results);
  console.log(`\nWritten to ${FILE}`);
}

/** Writes one section anew, which begins with its title; one that is new goes before the last. */
export function replaceSection(title: string, section: string): void {
  const results = readFileSync(FILE, 'utf8');
  const known = results.indexOf(title);
  const start = known < 0 ? results.indexOf(LAST) : known;
  const next = known < 0 ? start : results.indexOf('\n## ', start + title.length) + 1;
  writeResults(`${results.slice(0, start)}${section}\n${results.slice(next)}`);
}
