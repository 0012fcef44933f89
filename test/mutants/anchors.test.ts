import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transform } from 'esbuild';
import { MUTANTS } from './all.ts';
import { plant, productSources } from './plant.ts';

/** The bugs of `npm run mutants` can still be planted. Whether they are found only that command tells. */

const SOURCES = productSources();

for (const mutant of MUTANTS) {
  test(`a bug can be planted: ${mutant.name}`, async () => {
    const planted = plant(SOURCES, mutant);
    for (const [path, text] of planted) {
      assert.ok(path.startsWith(`shared/${mutant.room}/`), `${path} is not in ${mutant.room}`);
      assert.notEqual(text, SOURCES.get(path));
      await transform(text, { loader: 'ts' });
    }
  });
}

test('no two bugs have the same name', () => {
  const names = MUTANTS.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});
