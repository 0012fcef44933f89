import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, listed, startAtom } from '../../support/atom-client.ts';
import { JSON_TYPE } from '../../support/json-management.ts';

/** Rules from before their size was limited: a page ends where its answer would be too long, and names the next one. */

const ANSWER_BYTES = 4 * 1024 * 1024;
const NAMES = Array.from({ length: 60 }, (_, i) => `r${i + 10}`);

async function startWithLargeRules(chars: number) {
  const { call, dependencies } = startAtom();
  await call('PUT', '/t', { body: entry('TopicDescription') });
  await call('PUT', '/t/Subscriptions/s', { body: entry('SubscriptionDescription') });
  await call('DELETE', '/t/Subscriptions/s/Rules/$Default');
  const subscription = dependencies.entities.byKey.get('t/subscriptions/s');
  assert.ok(subscription);
  for (const name of NAMES) {
    const filter = { kind: 'correlation', to: '漢'.repeat(chars), properties: {} } as const;
    await dependencies.rules.create(subscription, { name, filter, createdAt: 0 });
  }
  /** Reads a page in one of the forms: the names of its rules, and the path of the next page. */
  return async (path: string, accept: string) => {
    const { status, text } = await call('GET', path, { headers: { accept } });
    assert.equal(status, 200);
    const { names, next } = accept === JSON_TYPE ? inJson(text) : inAtom(text);
    const rest = next === undefined ? undefined : new URL(next);
    return {
      names,
      bytes: Buffer.byteLength(text),
      next: rest && rest.pathname + rest.search,
    };
  };
}

function inJson(text: string) {
  const { rules, next } = JSON.parse(text);
  return { names: rules.map(({ name }: { readonly name: string }) => name), next };
}

function inAtom(text: string) {
  const { ids, links } = listed(text);
  return { names: ids.map((id) => id.split('/').at(-1)), next: links['next'] };
}

for (const accept of [JSON_TYPE, 'application/atom+xml']) {
  test(`${accept}: pages of large rules have all of them once, in order, and none is too long`, async () => {
    const read = await startWithLargeRules(40_000);
    for (const query of ['', '?$skip=0&$top=100', '?$top=7']) {
      const seen: string[] = [];
      let pages = 0;
      for (let next: string | undefined = `/t/Subscriptions/s/Rules${query}`; next; pages++) {
        const page = await read(next, accept);
        assert.ok(page.bytes <= ANSWER_BYTES + 100_000, `${page.bytes} bytes`);
        seen.push(...page.names);
        next = page.next;
      }
      assert.deepEqual(seen, NAMES);
      assert.equal(pages, query === '?$top=7' ? 9 : 2);
    }
  });

  test(`${accept}: a rule that is too long on its own has a page of its own`, async () => {
    const read = await startWithLargeRules(1_500_000);
    const page = await read('/t/Subscriptions/s/Rules?$skip=58', accept);
    assert.deepEqual(page.names, NAMES.slice(58, 59));
    const last = await read(page.next ?? '', accept);
    assert.deepEqual(last.names, NAMES.slice(59));
    assert.equal(last.next, undefined);
  });
}
