import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { crashingClient, repeatingClient } from '../../support/crashing-client.ts';
import { startDeclaring } from './declaring.ts';
import { AFTER, BEFORE, SHOWN_AFTER, shown } from './shown.ts';
import { type Answer, FakeStack } from './stack.ts';

for (const when of ['before it', 'after it'] as const) {
  test(`a function that ends at any write, ${when}, goes on when the same event comes again`, async (t) => {
    const ends = await deployEachCrash(t, when);
    assert.ok(ends > 15, `${ends} crashes`);
  });
}

test('every event comes twice, and every write is made twice', async (t) => {
  const client = repeatingClient();
  t.after(() => client.destroy());
  const { answer, management, parameters } = await startDeclaring(t, { client });
  const shop = new FakeStack('shop', async (event) => {
    const first = await answer(event);
    const second = await answer(event);
    assert.deepEqual(second, first);
    return second;
  });
  assert.equal(await shop.deploy(BEFORE), undefined);
  assert.equal(await shop.deploy(AFTER), undefined);
  assert.deepEqual(await shown(management), SHOWN_AFTER);
  assert.deepEqual([...parameters.values.keys()], ['/orders-2/sender']);
  await shop.delete();
  assert.deepEqual(await shown(management), []);
  assert.equal(parameters.values.size, 0);
});

/** Deploys twice and deletes, with a crash at each write of each event in turn. Returns the number of crashes. */
async function deployEachCrash(t: TestContext, when: 'before it' | 'after it'): Promise<number> {
  const { client, crashAt, restart } = crashingClient();
  t.after(() => client.destroy());
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const { management } = await startDeclaring(t, { namespace });
  const { parameters } = await startDeclaring(t, { namespace });
  let crashes = 0;
  // Each event crashes at its first write, then at its second one, and so on, until it ends.
  const answer: Answer = async (event) => {
    for (let write = 1; ; write++) {
      // A process that has crashed makes requests in vain, and so has no pauses between them.
      const process = await startDeclaring(t, { client, namespace, parameters });
      crashAt(write, when);
      const answered = await process.answer(event);
      if (!restart()) return answered;
      crashes++;
      assert.ok(write < 50, 'an event has an end');
    }
  };
  const shop = new FakeStack('shop', answer);
  assert.equal(await shop.deploy(BEFORE), undefined);
  assert.equal(await shop.deploy(AFTER), undefined);
  assert.deepEqual(await shown(management), SHOWN_AFTER);
  assert.deepEqual([...parameters.values.keys()], ['/orders-2/sender']);
  await shop.delete();
  assert.deepEqual(await shown(management), []);
  assert.equal(parameters.values.size, 0);
  return crashes;
}
