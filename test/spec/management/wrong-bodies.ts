import assert from 'node:assert/strict';
import { putJson, sentenceOf } from '../../support/json-management.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** A path, a body that is refused there, and the beginnings of the faults that the refusal must list. */
export type WrongBody = readonly [path: string, body: string, ...faults: string[]];

/** Requires that each body is refused with all of its faults, and that nothing is created. */
export async function requireRefusals(
  broker: TestBroker,
  wrong: readonly WrongBody[],
): Promise<void> {
  for (const [path, body, ...faults] of wrong) {
    const answer = await putJson(broker, path, body);
    assert.equal(answer.status, 400, `${body}: ${answer.text}`);
    const sentence = sentenceOf(answer);
    assert.ok(sentence.startsWith('SubCode=40000. '));
    for (const fault of faults) assert.ok(sentence.includes(fault), `${fault} in ${sentence}`);
    const isSeveral = sentence.includes('The body has several faults.');
    assert.equal(isSeveral, faults.length > 1, sentence);
    expectStatus(await broker.request('GET', path), 404);
  }
}
