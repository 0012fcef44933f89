import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('RESULTS.md', import.meta.url));
/** The last section of the file. */
const LAST = '## How fast filters are';

/** Sections that separate runs measure; other runs keep them. */
const SEPARATE_SECTIONS = [
  '## Under attack',
  '## Beside other brokers',
  '## What management costs',
  '## How fast stacks declare entities',
  '## What an install takes',
  '## What pushed messages cost',
];

/** Replaces all results except the sections that separate runs measure. */
export function keepResults(report: string): void {
  const before = readFileSync(FILE, 'utf8');
  const kept = SEPARATE_SECTIONS.filter((title) => !report.includes(title)).map((title) =>
    sectionOf(before, title),
  );
  const last = report.indexOf(LAST);
  writeResults(`${report.slice(0, last)}${kept.join('')}${report.slice(last)}`);
}

/** Returns a section with its title, up to the next one; an empty text if it is missing. */
function sectionOf(results: string, title: string): string {
  const start = results.indexOf(title);
  if (start < 0) return '';
  return results.slice(start, results.indexOf('\n## ', start + title.length) + 1);
}

function writeResults(results: string): void {
  writeFileSync(FILE, results);
  console.log(`\nWritten to ${FILE}`);
}

/** Replaces one section, which begins with its title; inserts a new one before the last section. */
export function replaceSection(title: string, section: string): void {
  const results = readFileSync(FILE, 'utf8');
  const known = results.indexOf(title);
  const start = known < 0 ? results.indexOf(LAST) : known;
  const next = known < 0 ? start : results.indexOf('\n## ', start + title.length) + 1;
  writeResults(`${results.slice(0, start)}${section}\n${results.slice(next)}`);
}
