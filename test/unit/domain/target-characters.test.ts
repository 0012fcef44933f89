import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTarget } from '../../../shared/domain/consumers/target.ts';

test('an address has no control characters and no halves of characters, which no database stores', () => {
  for (const character of ['\0', '\u0007', '\u001b', '\u007f', '\u0085', '\ud800', '\udc00']) {
    assert.throws(
      () => parseTarget(`http://localhost/${character}`),
      { code: 'ArgumentError', message: /control character/ },
      JSON.stringify(character),
    );
  }
  const url = 'http://localhost/é/😀';
  assert.deepEqual(parseTarget(url), { kind: 'local', url });
});
