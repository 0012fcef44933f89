import { describe } from 'node:test';

let isOn = false;

/**
 * Registers the tests of specs in a mode in which `startBroker` starts two processes that answer alternately.
 * `specs` = imports of the spec files, by name.
 */
export function registerInTurns(specs: Readonly<Record<string, () => Promise<unknown>>>): void {
  isOn = true;
  for (const [name, load] of Object.entries(specs)) {
    // Tests that the import registers become tests of this suite.
    describe(`in turns: ${name}`, { concurrency: TESTS_AT_ONCE }, async () => {
      await load();
    });
  }
}

/** Concurrent tests, because a test mostly waits for the engine. */
const TESTS_AT_ONCE = 3;

/** Whether `startBroker` starts two processes that answer alternately. */
export function isInTurns(): boolean {
  return isOn;
}
