import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The samples, and how many tests each has. */
const SAMPLES = [
  { name: 'node-test', passed: /^# pass 3$|^ℹ pass 3$/m },
  { name: 'vitest', passed: /Tests +2 passed/ },
  { name: 'jest', passed: /Tests: +2 passed/ },
  { name: 'other-languages', passed: /Ran 1 test[\s\S]*OK/ },
];

if (isMore()) {
  for (const { name, passed } of SAMPLES) {
    test(`the sample ${name} passes in an empty folder, with the packed package`, () => {
      const project = Project.ofSample(name);
      const { exitCode, output, errors } = project.run(['npm', 'test'], {
        variables: { NO_COLOR: '1' },
      });
      assert.equal(exitCode, 0, output + errors);
      assert.match(output + errors, passed);
    });
  }

  test('the sample cdk is synthesised in an empty folder, with the packed package', () => {
    const project = Project.ofSample('cdk');
    const { exitCode, output, errors } = project.run(['npm', 'run', 'synth']);
    assert.equal(exitCode, 0, output + errors);
    const text = readFileSync(join(project.folder, 'cdk.out/Shop.template.json'), 'utf8');
    for (const name of ['orders', 'invoices', 'failed', 'events', 'events/Subscriptions/audit']) {
      assert.ok(text.includes(`"Name": "${name}"`), name);
    }
  });

  test('the programs of README.md and docs/testing.md run as written', () => {
    const project = Project.with('quick-starts', ['@azure/service-bus@7.9.5']);
    const pages = [
      { page: 'README.md', command: ['node', '--test', 'README.mjs'], printed: /^. pass 1$/m },
      {
        page: 'docs/testing.md',
        command: ['node', 'testing.mjs'],
        printed: /body: \{ order: 1 \}/,
      },
    ];
    for (const { page, command, printed } of pages) {
      const text = readFileSync(join(ROOT, page), 'utf8');
      const program = /^```js\n(?<program>.+?)^```$/ms.exec(text)?.groups?.['program'];
      project.write(String(command.at(-1)), program ?? '');
      const { exitCode, output, errors } = project.run(command);
      assert.equal(exitCode, 0, output + errors);
      assert.match(output, printed);
    }
  });
}
