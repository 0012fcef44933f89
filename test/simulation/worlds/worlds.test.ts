import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { catalogue } from './catalogue/catalogue.ts';
import { exploreWorld, exploreWorlds } from './explore-worlds.ts';

/** Seconds of a core; two or three times as long as the test usually takes. */
const SECONDS_MAX = Number(process.env['DYNABUS_WORLD_SECONDS'] ?? 30);
const IS_SEARCH = process.env['DYNABUS_LARGE_WORLDS'] !== undefined;

/** Worlds that are small enough to run every order. */
const TINY = [
  'claim × claim, two messages in one block',
  'claim × complete at the end of the lock',
  'complete × complete × abandon of one lock',
  'accept × accept of one session',
  'duplicate × duplicate',
  'transaction × transaction with the same id',
  'claim × claim in one process, two messages in one block',
  'purge with a late write × send',
];

describe('small worlds', () => {
  it('each small world keeps every promise in every order of its requests', async () => {
    const { reports, violations } = await exploreWorlds({
      secondsMax: SECONDS_MAX,
      isSearch: IS_SEARCH,
      runsTimes: isMore() ? 4 : 1,
    });
    for (const { name, runs, states, outcomes, isComplete } of reports) {
      const how = isComplete ? 'all' : 'not all';
      console.log(`# ${name}: ${runs} runs, ${how}; ${states} states, ${outcomes} outcomes`);
    }
    assert.equal(violations.join('\n\n'), '');
  });

  for (const name of TINY) {
    it(`the orders that the reduction leaves out have the same outcomes: ${name}`, async () => {
      const world = catalogue.find((one) => one.name === name);
      assert.ok(world !== undefined, name);
      const reduced = await exploreWorld(world, { runsMax: 5000 });
      const all = await exploreWorld(world, { runsMax: 5000, reduces: false });
      assert.ok(reduced.isComplete && all.isComplete);
      assert.deepEqual([...reduced.outcomeTexts].sort(), [...all.outcomeTexts].sort());
      assert.ok(reduced.runs <= all.runs);
    });
  }
});
