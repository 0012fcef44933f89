import { describe } from 'node:test';
import { isMore } from '../runner/more.ts';

/**
 * How `startBroker` runs a namespace: as one process behind a server, as two that answer alternately, or as the
 * function behind a function URL.
 */
export type SpecMode = 'usual' | 'alternating' | 'function URL';

let mode: SpecMode = 'usual';

/**
 * Registers the tests of specs once more, in another mode, which the whole process has from then on. `specs` = imports
 * of the spec files, by name; `usual` = those that `npm test` runs too, besides `npm run test:more`.
 */
export function registerSpecs<Name extends string>(
  as: SpecMode,
  specs: Readonly<Record<Name, () => Promise<unknown>>>,
  usual: readonly NoInfer<Name>[],
): void {
  mode = as;
  const names = isMore() ? (Object.keys(specs) as Name[]) : usual;
  for (const name of names) {
    const load = specs[name];
    // Tests that the import registers become tests of this suite.
    describe(`${as}: ${name}`, { concurrency: TESTS_AT_ONCE }, async () => {
      await load();
    });
  }
}

/** Concurrent tests, because a test mostly waits for the engine. */
const TESTS_AT_ONCE = 3;

/** The mode of this process. */
export function specMode(): SpecMode {
  return mode;
}
