import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnreachableError } from '../../../client/client-errors.ts';
import { mayHaveTakenEffect } from '../../../explorer/api/effect.ts';
import { refusal } from './listed-queue.ts';

/** What the page takes for done or not after an error. */

for (const [what, error, expected] of [
  ['a lost answer', new UnreachableError('No answer.'), true],
  ['an answer of what is in front of the service', refusal('HTTP 504', 504), true],
  ['a time-out', refusal('ServiceTimeout', 504), true],
  ['a fault', refusal('InternalServerError', 500), true],
  ['a refusal', refusal('MessageNotFound', 404), false],
  ['a busy service', refusal('ServiceBusy', 503), false],
  ["what 'dynabus explorer' could not send", refusal('NotSent', 503), false],
] as const) {
  test(`after ${what}, a change ${expected ? 'may have been made' : 'was not made'}`, () => {
    assert.equal(mayHaveTakenEffect(error), expected);
  });
}
