import { describe } from 'node:test';

let isOn = false;

/**
 * Registers the tests of specs in a mode in which `startBroker` starts two processes that answer in
 * turns. `specs` = imports of the spec files, by name.
 */
export function registerInTurns(specs: Readonly<Record<string, () => Promise<unknown>>>): void {
  isOn = true;
  for (const [name, load] of Object.entries(specs)) {
    // Tests that are registered in here become those of the suite.
    describe(`in turns: ${name}`, { concurrency: TESTS_AT_ONCE }, async () => {
      await load();
    });
  }
}

/** Many tests wait for the engine. */
const TESTS_AT_ONCE = 3;

/** Whether brokers are to be two processes in turns. */
export function isInTurns(): boolean {
  return isOn;
}
