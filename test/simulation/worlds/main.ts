import { exploreWorlds, replayWorld } from './explore-worlds.ts';

/**
 * Explores the small worlds by hand: `DYNABUS_WORLD` = part of a name, `DYNABUS_CHOICES` = repeats one run of it,
 * `DYNABUS_WORLD_SECONDS` = how long. `--search` explores the large ones, too; `--first` ends at the first
 * world in which something does not hold.
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
