import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measureCosts } from './measure.ts';
import { keepMeasured, type Measured, readMeasured } from './measured.ts';
import { costSections, printPrices } from './print.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/cost.md', import.meta.url));

/** `npm run bench -- --costs`: measures, keeps the measurements, and writes the tables of docs/cost.md. */
export async function benchCosts(isQuick: boolean, engine: string | undefined): Promise<void> {
  if (!isQuick) keepMeasured(await measureCosts(engine));
  const measured = readMeasured();
  for (const [name, section] of Object.entries(sectionsOf(measured))) {
    console.log(`\n${name}\n\n${section}`);
  }
  writeFileSync(DOCUMENT, withSections(readFileSync(DOCUMENT, 'utf8'), measured));
  console.log(`\nWritten to ${DOCUMENT}; npm run format aligns the tables.`);
}

function sectionsOf(measured: Measured): Readonly<Record<string, string>> {
  return { prices: printPrices(), ...costSections(measured) };
}

/** A document with the computed sections between their markers. Throws Error for a marker that is missing. */
export function withSections(document: string, measured: Measured): string {
  let text = document;
  for (const [name, section] of Object.entries(sectionsOf(measured))) {
    const [begin, end] = [`<!-- computed: ${name} -->`, '<!-- end -->'];
    const start = text.indexOf(begin);
    const stop = text.indexOf(end, start);
    if (start < 0 || stop < 0) throw new Error(`The document has no section '${begin}'.`);
    text = `${text.slice(0, start)}${begin}\n\n${section}\n\n${text.slice(stop)}`;
  }
  return text;
}
