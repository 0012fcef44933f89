import { replaceSection } from '../results-file.ts';
import { HOSTILE_TITLE, isServed, printUnderAttack } from './hostile-report.ts';
import { HOSTILE_TIMES, measureUnderAttack } from './under-attack.ts';

/**
 * Measures what an honest client sees of a gateway under attack, prints it, and keeps it unless it was
 * quick. Returns whether the client was served as it should be.
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
