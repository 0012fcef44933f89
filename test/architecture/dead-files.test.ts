import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, sourceFiles } from './repository.ts';

/** What is started, or what the build of the package puts in the place of another file; not imported. */
const ENTRY =
  /^lambdas\/\w+\/handler\.ts$|^(local|gateway|bench)\/main\.ts$|^bench\/(memory-probe|competing\/server|hostile\/attacker|amqp\/idle-clients)\.ts$|^explorer\/main\.tsx$|^(cdk\/(app|index)|connect\/index)\.ts$|^package\/(build|index|prebuilt-code)\.ts$|^local\/testing\/(testing|test-server)\.ts$|^(test|samples)\/(run|.+\.test)\.ts$/;

test('every source file is reached from something that is started', () => {
  const files = sourceFiles();
  const reached = new Set(files.filter((path) => ENTRY.test(path)));
  // A set hands out what is added to it while it is walked.
  for (const path of reached) {
    for (const { target } of importsOf(path)) if (files.includes(target)) reached.add(target);
  }
  const dead = files.filter((path) => !reached.has(path) && !path.startsWith('test/'));
  assert.deepEqual(dead, []);
});
