import { Random } from './engine/random.ts';
import { runScenario } from './run.ts';
import { drawScenario } from './scenario/draw.ts';
const seconds = Number(process.argv[2] ?? 10);
const only = process.argv[3];
const t0 = performance.now();
let n = 0, ops = 0, events = 0;
const kinds = new Map<string, number>();
const codes = new Map<string, number>();
const seed0 = only ?? String(Date.now());
while ((performance.now() - t0) / 1000 < seconds) {
  const seed = only ?? `${seed0}-${n}`;
  const scenario = drawScenario(seed, new Random(`${seed}/scenario`));
  (await import('node:fs')).writeFileSync('/tmp/seed.txt', seed);
  let run;
  try {
    run = await runScenario(scenario, only ? (w, l) => console.log(w, l) : undefined);
  } catch (e) { console.log('seed', seed); throw e; }
  n++; ops += run.records.length; events += run.events;
  for (const r of run.records) {
    const k = `${r.action.kind} ${r.heard} ${r.code ?? ''}`;
    codes.set(k, (codes.get(k) ?? 0) + 1);
  }
  for (const v of run.violations.slice(0, 1)) {
    kinds.set(v.check, (kinds.get(v.check) ?? 0) + 1);
    if ((kinds.get(v.check) ?? 0) <= 3) console.log(seed, v.check, v.text);
  }
  if (only) { console.log(JSON.stringify(scenario.entities), JSON.stringify(scenario.network), JSON.stringify(scenario.processes), JSON.stringify(scenario.faults)); for (const v of run.violations) console.log(v.check, v.text); break; }
}
const s = (performance.now() - t0) / 1000;
console.log(n, 'scenarios', ops, 'ops', (ops / s).toFixed(0), 'ops/s', (events / s).toFixed(0), 'events/s');
console.log(Object.fromEntries(kinds));
if (process.argv[4]) console.log(Object.fromEntries([...codes].sort()));
