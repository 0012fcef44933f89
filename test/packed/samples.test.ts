import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

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
}
