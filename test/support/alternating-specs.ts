import { describe } from 'node:test';
import { isMore } from '../runner/more.ts';

let isOn = false;

/**
 * Registers the tests of specs in a mode in which `startBroker` starts two processes that answer alternately.
 * `specs` = imports of the spec files, by name; `usual` = those that `npm test` runs too.
 */
export function registerAlternating<Name extends string>(
  specs: Readonly<Record<Name, () => Promise<unknown>>>,
  usual: readonly NoInfer<Name>[],
): void {
  isOn = true;
  const names = isMore() ? (Object.keys(specs) as Name[]) : usual;
  for (const name of names) {
    const load = specs[name];
    // Tests that the import registers become tests of this suite.
    describe(`alternating: ${name}`, { concurrency: TESTS_AT_ONCE }, async () => {
      await load();
    });
  }
}

/** Concurrent tests, because a test mostly waits for the engine. */
const TESTS_AT_ONCE = 3;

/** Whether `startBroker` starts two processes that answer alternately. */
export function isAlternating(): boolean {
  return isOn;
}
