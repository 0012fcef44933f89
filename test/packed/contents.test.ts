import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sizeOf } from '../../package/pack.ts';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

/** What a production install may take: 16.5 MB today, of which 6.2 MB are the functions. */
const PRODUCTION_BYTES_MAX = 17_000_000;

if (isMore()) {
  test('a production install is the package alone, without engines, and small', () => {
    const project = Project.with('production', ['--omit=dev']);
    const modules = join(project.folder, 'node_modules');
    assert.deepEqual(
      readdirSync(modules).filter((name) => !name.startsWith('.')),
      ['dynabus'],
    );
    const bytes = sizeOf(modules);
    assert.ok(bytes <= PRODUCTION_BYTES_MAX, `${bytes} bytes`);

    const files = readdirSync(join(modules, 'dynabus'), { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      files.filter((name) =>
        /(?:^|\/)(?:test|bench|samples|node_modules)\/|\.test\.|\.jar$/.test(name),
      ),
      [],
    );
    const notices = readFileSync(join(modules, 'dynabus/dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const name of ['@aws-sdk/client-dynamodb', 'commander', 'hono', 'preact', 'ws', 'zod']) {
      assert.match(notices, new RegExp(`^${name} \\d`, 'm'));
    }
  });

  test('both module formats have the same exports, with types', () => {
    const project = Project.with('types', ['typescript@5.9.3']);
    const program = `
      import { createSasToken, formatConnectionString, parseConnectionString } from 'dynabus';
      import { startNamespace, type TestNamespace } from 'dynabus/testing';
      export const text: string = createSasToken({ audience: 'sb://a', keyName: 'b', key: 'c', expiresAt: 1 });
      export const same: string = formatConnectionString(parseConnectionString(text));
      export const bus: Promise<TestNamespace> = startNamespace({ queues: ['orders', { name: 'a', lockDuration: { seconds: 30 } }] });
      // @ts-expect-error There is no such setting.
      export const wrong = startNamespace({ queues: [{ name: 'a', lockDurations: 'PT1M' }] });
    `;
    project.write('module.mts', program);
    project.write('common.cts', program);
    // Without the types of Node, and with a check of all declarations.
    const strict = ['--target', 'es2022', '--strict', '--noEmit'];
    const compilations = [
      [...['--module', 'nodenext'], 'module.mts', 'common.cts'],
      [...['--module', 'esnext', '--moduleResolution', 'bundler'], 'module.mts'],
      [...['--module', 'commonjs', '--moduleResolution', 'node10'], 'common.cts'],
    ];
    for (const options of compilations) {
      const { exitCode, output } = project.run(['tsc', ...strict, ...options]);
      assert.equal(exitCode, 0, `${options.join(' ')}: ${output}`);
    }

    const names = 'Object.keys({ ...a, ...b }).sort().join()';
    project.write(
      'names.mjs',
      `import * as a from 'dynabus'; import * as b from 'dynabus/testing'; console.log(${names});`,
    );
    project.write(
      'names.cjs',
      `const a = require('dynabus'); const b = require('dynabus/testing'); console.log(${names});`,
    );
    const [module, common] = ['names.mjs', 'names.cjs'].map((name) => project.run(['node', name]));
    assert.equal(module?.exitCode, 0, module?.errors);
    assert.equal(common?.output, module?.output);
  });
}
