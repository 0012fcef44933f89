import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson } from '../../../lambdas/http/format/exact-json.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { startApp } from '../../support/http-fixture.ts';

/** Rows 2 and 7: short JSON texts with many values. */

const { jsonValues, jsonDepth, jsonFields } = BUDGETS.request;
const many = (count: number, text: string) => Array(count).fill(text).join(',');
const fields = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',');
const BATCH = { 'content-type': 'application/vnd.microsoft.servicebus.json' };

const BOMBS: readonly [what: string, json: string, sentence: RegExp][] = [
  ['many numbers', `[${many(jsonValues, '0')}]`, /more than 200000 values/],
  ['many empty lists', `[${many(jsonValues / 2 + 1, '[]')}]`, /more than 200000 values/],
  ['many objects', `[${many(jsonValues / 2 + 1, '{"a":1}')}]`, /more than 200000 values/],
  ['deep lists', '['.repeat(100_000), /more than 64 lists and objects deep/],
  ['deep objects', '{"a":'.repeat(jsonDepth + 1), /more than 64 lists and objects deep/],
  ['many fields', `[{${fields(jsonFields + 1)}}]`, /an object of more than 1000 fields/],
];

const ROUTES: readonly [method: string, path: string, init?: RequestInit][] = [
  ['POST', '/q/messages', { headers: BATCH }],
  ['POST', '/q/messages/$schedule'],
  ['POST', '/q/messages/$cancelScheduled'],
  ['POST', '/q/messages/$deferred'],
  ['POST', '/q/messages/$settle'],
  ['POST', '/q/messages/$renew'],
  ['POST', '/q/messages/$delete'],
  ['POST', '/q/messages/head?timeout=0&maxMessages=1'],
];

for (const [what, json, sentence] of BOMBS) {
  test(`row 7: JSON of ${what} is refused before it is parsed, in every request`, async () => {
    for (const [method, path, init] of ROUTES) {
      const { call, broker } = startApp();
      const response = await call(method, path, { ...init, body: json });
      assert.equal(response.status, 400, path);
      assert.match(await response.text(), sentence, path);
      assert.deepEqual(broker.waiting('q'), []);
    }
  });
}

test('JSON with the maximum of values, depth or fields is parsed; punctuation in strings does not count', () => {
  const values = `[${many(jsonValues - 1, '0')}]`;
  assert.equal((parseExactJson(values, 'It') as number[]).length, jsonValues - 1);
  const deep = `${'['.repeat(jsonDepth)}${']'.repeat(jsonDepth)}`;
  assert.deepEqual(parseExactJson(deep, 'It'), JSON.parse(deep));
  const wide = `[{${fields(jsonFields)}},{${fields(jsonFields)}}]`;
  assert.deepEqual(parseExactJson(wide, 'It'), JSON.parse(wide));
  const text = JSON.stringify(`${'[{,:"\\'.repeat(jsonValues)}\\"`);
  assert.equal(parseExactJson(text, 'It'), JSON.parse(text));
});

test('every character is read at most twice, also quotes and backslashes', (t) => {
  const looks = t.mock.method(String.prototype, 'charCodeAt').mock;
  for (const piece of ['\\"', '\\\\', '"', '[]']) {
    // With a number, the text is read once for its shape and once for numbers.
    const text = `[1e5,"${piece.repeat(1000)}`;
    looks.resetCalls();
    assert.throws(() => parseExactJson(text, 'It'), /It (is not valid JSON|holds more than)/);
    const count = looks.callCount();
    assert.ok(count > 0.5 * text.length, `${count} reads: they are not counted`);
    assert.ok(count <= 2 * text.length, `${count} reads of ${text.length} characters`);
  }
});
