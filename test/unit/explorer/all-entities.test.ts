import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Caller, HttpAnswer } from '../../../client/call.ts';
import { allEntities } from '../../../client/everything.ts';

/** A service that has `count` queues, and notes what it is asked for. */
function serviceOf(count: number, most = 1000) {
  const asked: string[] = [];
  const names = Array.from({ length: count }, (_, i) => `q${String(i).padStart(5, '0')}`);
  const caller: Caller = {
    call: async ({ query = {} }: Call) => {
      const { $top = 0, after } = query;
      asked.push(`${after ?? 'start'}+${$top}`);
      const from = after === undefined ? 0 : names.indexOf(String(after)) + 1;
      const page = names.slice(from, from + Math.min(Number($top), most));
      const isLast = from + page.length >= count;
      const entities = page.map((name) => ({ name, kind: 'queue' }));
      const text = JSON.stringify({ entities, ...(isLast ? {} : { next: 'https://…' }) });
      return {
        status: 200,
        header: () => undefined,
        text,
        bytes: Buffer.from(text),
      } satisfies HttpAnswer;
    },
  };
  return { caller, asked, names };
}

async function namesOf(caller: Caller): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of allEntities(caller)) names.push(...page.map(({ name }) => name));
  return names;
}

test('of all entities a small page comes first, then large ones, each asked for while the one before is used', async () => {
  const { caller, asked, names } = serviceOf(1500);
  const pages = allEntities(caller);
  const first = await pages.next();
  assert.equal(first.value?.length, 100);
  assert.deepEqual(asked, ['start+100', 'q00099+1000']);
  assert.equal((await pages.next()).value?.length, 1000);
  assert.deepEqual(asked, ['start+100', 'q00099+1000', 'q01099+1000']);
  assert.equal((await pages.next()).value?.length, 400);
  assert.equal((await pages.next()).done, true);
  assert.deepEqual(await namesOf(caller), names);
});

test('a service of an earlier version returns a hundred at a time, and none is left out', async () => {
  const { caller, names } = serviceOf(350, 100);
  assert.deepEqual(await namesOf(caller), names);
});

test('a page that fails is thrown when its turn comes', async () => {
  const { caller, asked } = serviceOf(300);
  const failing: Caller = {
    call: async (call) => {
      const answer = await caller.call(call);
      if (asked.length > 1) throw new Error('gone');
      return answer;
    },
  };
  const pages = allEntities(failing);
  assert.equal((await pages.next()).value?.length, 100);
  await assert.rejects(pages.next(), /gone/);
});
