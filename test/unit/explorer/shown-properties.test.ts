import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownProperties } from '../../../explorer/messages/shown-properties.ts';

for (const [json, type, text] of [
  ['"gold"', 'string', 'gold'],
  ['7', 'int', '7'],
  ['-2147483647', 'int', '-2147483647'],
  ['2147483648', 'long', '2147483648'],
  ['9007199254740993', 'long', '9007199254740993'],
  ['7.0', 'double', '7.0'],
  ['1e3', 'double', '1e3'],
  ['true', 'boolean', 'true'],
  ['null', 'null', 'null'],
  ['{"$long":"7"}', 'long', '7'],
  [
    '{"$guid":"5f2f6a1c-9d0e-4c47-8a2b-7f1c3e5d9b60"}',
    'guid',
    '5f2f6a1c-9d0e-4c47-8a2b-7f1c3e5d9b60',
  ],
  ['{"$float":1.5}', 'float', '1.5'],
] as const) {
  test(`${json} is shown as ${text}, of the type ${type}`, () => {
    assert.deepEqual(shownProperties(`{"P":${json}}`), [{ name: 'P', type, text }]);
  });
}

test('a message without properties shows none', () => {
  assert.deepEqual(shownProperties(undefined), []);
});
