import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, sourceFiles } from './repository.ts';

const EXPORTED =
  /^export (?:abstract )?(?:async )?(?:function\*?|class|interface|type) (?<name>\w+)/;

test('every exported function, class and type of the product has a docstring', () => {
  const missing = sourceFiles()
    .filter((path) => !/^(test|bench)\//.test(path))
    .flatMap((path) => {
      const lines = readText(path).split('\n');
      return lines.flatMap((line, i) => {
        const name = EXPORTED.exec(line)?.groups?.['name'];
        const isDocumented = lines[i - 1]?.endsWith('*/') ?? false;
        return name === undefined || isDocumented ? [] : [`${path}: ${name}`];
      });
    });
  assert.deepEqual(missing, []);
});
