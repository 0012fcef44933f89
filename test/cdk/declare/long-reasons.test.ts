import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceAnswer } from '../../../lambdas/declare/cloud-formation.ts';
import { startDeclaring } from './declaring.ts';
import { FakeStack, queue } from './stack.ts';

/** CloudFormation takes no longer answer, and then waits until the deployment has failed without a reason. */
const ANSWER_BYTES_MAX = 4096;

const SETTINGS: Readonly<Record<string, object>> = {
  'of long words in Chinese': { status: '状'.repeat(3000) },
  'of quotes': { ['"'.repeat(3000)]: 1 },
  'of control characters': { status: '\u0001'.repeat(3000) },
  'of pairs of surrogates': { status: '😀'.repeat(3000) },
  'of many faults': Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`"设置"${i}`, 1])),
};

for (const [what, settings] of Object.entries(SETTINGS)) {
  test(`a reason ${what} fits into what CloudFormation takes`, async (t) => {
    const { answer } = await startDeclaring(t);
    const answers: ResourceAnswer[] = [];
    const stack = new FakeStack('shop', async (event) => {
      const given = await answer(event);
      answers.push(given);
      return given;
    });
    const reason = await stack.deploy({ Orders: queue('o'.repeat(260), settings) });
    assert.ok(reason !== undefined && reason.length > 100);
    assert.doesNotMatch(reason, /\p{Surrogate}/u);
    for (const given of answers) {
      assert.ok(Buffer.byteLength(JSON.stringify(given)) <= ANSWER_BYTES_MAX);
    }
  });
}
