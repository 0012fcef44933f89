import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../../runner/more.ts';
import { namespace } from '../../unit/config/arbitraries.ts';
import { temporaryDirectory } from '../cli.ts';
import { runCommand, sharedNamespace } from './run-command.ts';

test('any entities are in another namespace as they were, after an export and an import', async (t) => {
  const bus = sharedNamespace();
  const { DYNABUS_CONNECTION_STRING: own } = await bus.environment();
  const directory = temporaryDirectory(t);
  const file = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  let namespaces = 0;
  const newNamespace = () => {
    const to = own.replace('AccessKey;', `AccessKey@trip-${++namespaces};`);
    return async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCommand([...args, '--to', to]);
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}${stdout}`);
      return stdout;
    };
  };
  await fc.assert(
    fc.asyncProperty(namespace, async (description) => {
      const [first, second] = [newNamespace(), newNamespace()];
      const described = file('description.json', fileText(description));
      await first('import', '--entities', described);
      const exported = await first('export', '--entities', '--keys');
      const copy = file('Config.json', exported);
      await second('import', '--entities', copy);
      assert.equal(await second('export', '--entities', '--keys'), exported);
      for (const args of [[], ['--update']]) {
        assert.match(
          await second('import', '--entities', copy, ...args),
          /^Created 0; \d+ existed/,
        );
        assert.match(await first('import', '--entities', described, ...args), /^Created 0; \d+ ex/);
      }
    }),
    // A counterexample costs seconds, so it is not made smaller.
    { numRuns: isMore() ? 40 : 10, endOnFailure: true, includeErrorInReport: true },
  );
});

/** A description as JSON, in which an instant has a form of its own. */
function fileText(description: unknown): string {
  return JSON.stringify(
    description,
    function (this: Readonly<Record<string, unknown>>, key, value) {
      const original = this[key];
      return original instanceof Date ? { DateTime: original.toISOString() } : value;
    },
  );
}
