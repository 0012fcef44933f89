import { describe, type TestContext, test } from 'node:test';

/** Titles of tests that only one process can pass, each with the reason. */
export type LeftOut = Readonly<Record<string, string>>;

/** What is left out while the mode is on; nothing while it is off. */
let leftOut: LeftOut | undefined;
const met = new Set<string>();

/**
 * Registers the tests of specs in a mode in which `startBroker` starts two processes that answer in
 * turns. `specs` = imports of the spec files, by name. The tests that are left out run over one
 * process, and are reported as skipped. A title in that list that no test has is a failure.
 */
export function registerInTurns(
  specs: Readonly<Record<string, () => Promise<unknown>>>,
  exceptions: LeftOut,
): void {
  leftOut = exceptions;
  for (const [name, load] of Object.entries(specs)) {
    // Tests that are registered in here become those of the suite.
    describe(`in turns: ${name}`, { concurrency: TESTS_AT_ONCE }, async () => {
      await load();
    });
  }
  test('every test that is left out in turns exists', () => {
    const unmet = Object.keys(exceptions).filter((title) => !met.has(title));
    if (unmet.length > 0) throw new Error(`No test is called:\n${unmet.join('\n')}`);
  });
}

/** Many tests wait for the engine. */
const TESTS_AT_ONCE = 3;

/** Whether a broker for this test is to be two processes in turns. */
export function isInTurns(t: TestContext): boolean {
  const reason = leftOut?.[t.name];
  if (reason === undefined) return leftOut !== undefined;
  met.add(t.name);
  t.skip(reason);
  return false;
}
