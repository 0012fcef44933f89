import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../../../local/config/json-text.ts';
import { faultsOf } from './faults-of.ts';

test('JSON with a byte order mark is read', () => {
  assert.deepEqual(parseJson('\ufeff{"a":[1,"b"]}'), { a: [1, 'b'] });
});

test('JSON is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (text, indent) => {
      const value: unknown = JSON.parse(text);
      assert.deepEqual(parseJson(JSON.stringify(value, undefined, indent)), value);
    }),
  );
});

test('a text that JSON.parse refuses is refused, and no other', () => {
  const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"', '1', '-', '01', 'true', 'x', ' ', '\n'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (chosen) => {
      const text = chosen.join('');
      const isTwice = () => faultsOf(() => parseJson(text)).some((line) => line.includes('twice'));
      if (isJson(text)) assert.ok(faultsOf(() => parseJson(text)).length === 0 || isTwice(), text);
      else assert.equal(faultsOf(() => parseJson(text)).length, 1, text);
    }),
    { numRuns: 2000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** By text: the line about it. */
const FAULTS: Readonly<Record<string, string>> = {
  '{\n  // a comment\n}': 'Line 2, column 3: JSON has no comments: remove this one.',
  '{} /* x */': 'Line 1, column 4: JSON has no comments: remove this one.',
  '{\r\n  "a": 1,\r\n}': 'Line 3, column 1: After a comma JSON needs a name: remove the comma.',
  '[1,]': 'Line 1, column 4: After a comma JSON needs a value: remove the comma.',
  '{"a" 1}': 'Line 1, column 6: A colon is missing after the name.',
  '{1:2}': 'Line 1, column 2: A name in double quotes is missing.',
  "{'a':1}": 'Line 1, column 2: JSON has double quotes around texts and names.',
  '[1 2]': 'Line 1, column 4: A comma or ] is missing before this.',
  '{"a":1': 'Line 1, column 7: A comma or } is missing before this.',
  '{} {}': 'Line 1, column 4: The JSON ends before this: remove it.',
  '["abc\n"]': 'Line 1, column 2: This text does not end in its line.',
  '["\\q"]':
    'Line 1, column 2: This text has a control character, or an escape that JSON does not know.',
  '{"a":1,"a":2}': 'Line 1, column 8: The name "a" is in this object twice.',
  '{"a":nil}': 'Line 1, column 6: This is neither a value nor a sign of JSON.',
  '': 'Line 1, column 1: A value is missing.',
  [`${'['.repeat(66)}`]: 'Line 1, column 66: More than 64 objects and lists are within each other.',
};

for (const [text, line] of Object.entries(FAULTS)) {
  test(`JSON is refused with its place: ${line}`, () => {
    assert.deepEqual(
      faultsOf(() => parseJson(text)),
      [line],
    );
  });
}
