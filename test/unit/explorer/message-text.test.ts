import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showBody } from '../../../explorer/messages/body.ts';
import { excerpt, hasUnseen, visible } from '../../../explorer/messages/visible-text.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

for (const [what, text, shown] of [
  ['a NUL', 'a\0b', 'a␀b'],
  ['an override of the direction', 'a\u202eb', 'a⟨U+202E⟩b'],
  ['a character without width', 'a\u200bb', 'a⟨U+200B⟩b'],
  ['half a character', 'a\ud800b', 'a⟨U+D800⟩b'],
  ['a line separator', 'a\u2028b', 'a⟨U+2028⟩b'],
] as const) {
  test(`${what} is written out`, () => {
    assert.equal(visible(text), shown);
    assert.ok(hasUnseen(text));
  });
}

for (const text of [
  'a\n\tb',
  'a\u00e9b',
  'family \u{1f468}\u200d\u{1f469}',
  '\u05e9\u05dc\u05d5\u05dd',
]) {
  test(`${JSON.stringify(text)} is shown as it is`, () => {
    assert.equal(visible(text), text);
    assert.ok(!hasUnseen(text));
  });
}

test('a carriage return before a line feed is not shown', () => {
  assert.equal(visible('a\r\nb'), 'a\nb');
  assert.ok(!hasUnseen('a\r\nb'));
});

test('an excerpt is one line, and says that there is more', () => {
  assert.equal(excerpt('one\n\n two', 20), 'one two');
  assert.equal(excerpt('x'.repeat(50), 10), `${'x'.repeat(10)}…`);
});

test('JSON is shown with indents, and its tokens stay as they were written', () => {
  const shown = showBody(bytes('{"a":[1,2.0,9007199254740993],"b":{},"c":"x\\"{,"}'));
  assert.deepEqual(shown, {
    kind: 'json',
    text: '{\n  "a": [\n    1,\n    2.0,\n    9007199254740993\n  ],\n  "b": {},\n  "c": "x\\"{,"\n}',
    isCut: false,
  });
});

test('what only looks like JSON is shown as it came', () => {
  assert.deepEqual(showBody(bytes('{"a":')), { kind: 'text', text: '{"a":', isCut: false });
});

test('bytes that are no UTF-8 are shown in hex', () => {
  const shown = showBody(new Uint8Array([0xff, 0x41, 0x00]));
  assert.ok(shown.kind === 'hex');
  assert.match(shown.text, /^00000000 {2}ff 41 00 +·A·$/);
});

test('a long body is cut until all of it is asked for', () => {
  const body = bytes('x'.repeat(100_000));
  const begin = showBody(body);
  assert.ok(begin.kind === 'text' && begin.isCut && begin.text.length === 65_536);
  const all = showBody(body, true);
  assert.ok(all.kind === 'text' && !all.isCut && all.text.length === 100_000);
});

test('of bytes in hex no more is shown than a browser can lay out', () => {
  const body = new Uint8Array(4_000_000).fill(0xff);
  const begin = showBody(body);
  assert.ok(begin.kind === 'hex' && begin.isCut && begin.text.split('\n').length === 256);
  const most = showBody(body, true);
  assert.ok(most.kind === 'hex' && most.isCut && most.text.split('\n').length === 16_384);
  const all = showBody(body.subarray(0, 100_000), true);
  assert.ok(all.kind === 'hex' && !all.isCut && all.text.split('\n').length === 6_250);
});

test('deep JSON is shown without indents that grow with its depth', () => {
  for (const depth of [100, 30_000]) {
    const shown = showBody(bytes('['.repeat(depth) + ']'.repeat(depth)), true);
    assert.equal(shown.kind, 'json');
    assert.ok('text' in shown && shown.text.length <= depth * 2 * (1 + 81));
  }
  const cut = showBody(bytes('['.repeat(30_000) + ']'.repeat(30_000)));
  assert.ok('text' in cut && cut.isCut && cut.text.length <= 65_536);
});
