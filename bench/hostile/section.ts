import { replaceSection } from '../results-file.ts';
import { HOSTILE_TITLE, isServed, printUnderAttack } from './hostile-report.ts';
import { HOSTILE_TIMES, measureUnderAttack } from './under-attack.ts';

/**
 * Measures how a gateway under attack serves an honest client, prints the result, and writes it to the results unless
 * the run is quick. Returns whether the client had its rate and latency.
 */
export async function benchUnderAttack({
  quick,
  engine,
}: {
  readonly quick: boolean;
  readonly engine?: string | undefined;
}): Promise<boolean> {
  const result = await measureUnderAttack(engine, HOSTILE_TIMES[quick ? 'quick' : 'full']);
  const section = printUnderAttack(result);
  console.log(section);
  for (const [kind, count] of Object.entries(result.cases)) console.log(`  ${count} × ${kind}`);
  if (!quick) replaceSection(HOSTILE_TITLE, section);
  return isServed(result);
}
