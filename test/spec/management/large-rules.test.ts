import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed } from '../../support/atom-client.ts';
import { getJson, type Json, putJson, sentenceOf } from '../../support/json-management.ts';
import { startLambdaBroker } from '../../support/lambda-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { eachOf } from '../../support/topic-entities.ts';

/** Lists of the longest rules, which must fit the answer of a function (docs/semantics/filters.md, R29). */

const RULE_BYTES = 36 * 1024;
/** Texts that take as much as is allowed, with the quotes around them: in XML, and in JSON. */
const LONGEST = {
  "'": Math.floor((RULE_BYTES - 2) / 6),
  x: RULE_BYTES - 2,
} as const;
const SUBSCRIPTION = 't/Subscriptions/s';

async function createSubscription(broker: TestBroker, path: string, rule: Json): Promise<void> {
  const defaultRule = { name: 'r00', ...rule };
  expectStatus(await putJson(broker, path, { defaultRule }), 201);
}

for (const [character, count] of Object.entries(LONGEST)) {
  const name = JSON.stringify(character);

  test(`R29 a page has a hundred of the longest rules of ${name}, and fits the answer of a function`, async (t) => {
    const { broker, requireResultsFit } = await startLambdaBroker(t);
    expectStatus(await putJson(broker, 't', { kind: 'topic' }), 201);
    const rule = { correlation: { to: character.repeat(count) } };
    await createSubscription(broker, SUBSCRIPTION, rule);
    const names = Array.from({ length: 100 }, (_, i) => `r${String(i).padStart(2, '0')}`);
    await eachOf(names.slice(1), async (one) =>
      expectStatus(await putJson(broker, `${SUBSCRIPTION}/Rules/${one}`, rule), 201),
    );
    const atom = await broker.request('GET', `${SUBSCRIPTION}/Rules`);
    const { ids, links } = listed(atom.text);
    assert.deepEqual(
      ids.map((id) => id.split('/').at(-1)),
      names,
    );
    assert.equal(links['next'], undefined);
    const { rules, next } = await getJson(broker, `${SUBSCRIPTION}/Rules`);
    assert.equal((rules as unknown[]).length, 100);
    assert.equal(next, undefined);
    requireResultsFit();
    const longer = { correlation: { to: character.repeat(count + 1) } };
    const refused = await putJson(broker, `${SUBSCRIPTION}/Rules/longer`, longer);
    expectStatus(refused, 400);
    assert.match(sentenceOf(refused), /The rule takes up to \d+ bytes .*; the limit is 36864\./);
  });
}

test('G28 a page of subscriptions with large rules fits the answer of a function', async (t) => {
  const { broker, requireResultsFit } = await startLambdaBroker(t);
  expectStatus(await putJson(broker, 't', { kind: 'topic' }), 201);
  const rule = { correlation: { subject: '漢'.repeat(10_000) } };
  const paths = Array.from({ length: 16 }, (_, i) => `t/Subscriptions/s${10 + i}`);
  await eachOf(paths, async (path) => {
    await createSubscription(broker, path, rule);
    for (let i = 1; i < 12; i++) {
      expectStatus(await putJson(broker, `${path}/Rules/r${i}`, rule), 201);
    }
  });
  const shown: Json[] = [];
  for (let next: unknown = '$entities'; next !== undefined; ) {
    const page = await getJson(broker, String(next));
    shown.push(...(page['entities'] as Json[]));
    next = page['next'];
  }
  requireResultsFit();
  assert.deepEqual(
    shown.map(({ name }) => name),
    ['t', ...paths],
  );
  for (const { rules, moreRules } of shown.slice(1)) {
    assert.equal((rules as unknown[]).length, 12);
    assert.equal(moreRules, undefined);
  }
});
