import { exploreWorlds, replayWorld } from './explore-worlds.ts';

/**
 * Explores the small worlds from the command line. `DYNABUS_WORLD` selects worlds by a part of their name,
 * `DYNABUS_CHOICES` repeats one run, `DYNABUS_WORLD_SECONDS` sets the time. `--search` explores the large
 * worlds, too; `--first` stops at the first world with a violation.
 */
const {
  DYNABUS_WORLD: only,
  DYNABUS_CHOICES: choices,
  DYNABUS_WORLD_SECONDS: seconds,
} = process.env;
if (only !== undefined && choices !== undefined) {
  console.log(await replayWorld(only, choices));
} else {
  const { reports, violations } = await exploreWorlds({
    secondsMax: Number(seconds ?? 60),
    isSearch: process.argv.includes('--search'),
    stopsAtFirst: process.argv.includes('--first'),
    only,
  });
  for (const violation of violations) console.log(`${violation}\n`);
  for (const { name, runs, states, outcomes, isComplete, violation } of reports) {
    const how = violation === undefined ? (isComplete ? 'complete' : 'not complete') : 'FAILED';
    console.log(`${name}: ${runs} runs, ${states} states, ${outcomes} outcomes, ${how}`);
  }
  const cpu = process.cpuUsage();
  console.log(`${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of a core`);
}
