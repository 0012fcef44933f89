import { replaceSection } from '../results-file.ts';
import type { ServerOptions } from '../server-process.ts';
import { SINGLES_PLANS } from './plan.ts';
import { printSingles, SINGLES_TITLE } from './report.ts';
import { measureSingles } from './singles.ts';

/** Measures single calls and prints the result. Writes it to the results unless the run is quick. */
export async function benchSingles(quick: boolean, options: ServerOptions): Promise<void> {
  const plan = SINGLES_PLANS[quick ? 'quick' : 'full'];
  const section = printSingles(await measureSingles(plan, options));
  console.log(section);
  if (!quick) replaceSection(SINGLES_TITLE, section);
}
