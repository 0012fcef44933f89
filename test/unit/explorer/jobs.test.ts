import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Jobs } from '../../../explorer/actions/jobs.ts';

/** Does a piece of work that ends with an offer. */
async function doAndOffer(jobs: Jobs, title: string, run = () => {}): Promise<void> {
  await jobs.run({ title, what: '' }, async (progress) =>
    progress.offer({ title: `undo ${title}`, run }),
  );
}

const nothing = async () => {};

test('what is offered outlasts other work, and is shown again when the results after it are put away', async () => {
  const jobs = new Jobs();
  await doAndOffer(jobs, 'first');
  await doAndOffer(jobs, 'second');
  await jobs.run({ title: 'third', what: '' }, nothing);
  assert.deepEqual(
    [jobs.current.value?.title, jobs.current.value?.offer, jobs.offers],
    ['third', undefined, ['undo second', 'undo first']],
  );
  jobs.close();
  assert.equal(jobs.current.value?.offer?.title, 'undo second');
  jobs.close();
  assert.equal(jobs.current.value?.offer?.title, 'undo first');
  jobs.close();
  assert.deepEqual([jobs.current.value, jobs.offers], [undefined, []]);
});

test('what was offered and is done is not offered again', async () => {
  const jobs = new Jobs();
  await doAndOffer(jobs, 'first');
  let done: Promise<unknown> | undefined;
  await doAndOffer(jobs, 'second', () => {
    done = jobs.run({ title: 'undone', what: '' }, nothing);
  });
  jobs.current.value?.offer?.run();
  await done;
  assert.deepEqual([jobs.current.value?.title, jobs.offers], ['undone', ['undo first']]);
  jobs.close();
  assert.equal(jobs.current.value?.title, 'first');
});

test('the last ten results with an offer are kept while another one is shown', async () => {
  const jobs = new Jobs();
  for (let i = 0; i < 12; i++) await doAndOffer(jobs, String(i));
  assert.equal(jobs.offers.length, 11);
  assert.equal(jobs.offers.at(-1), 'undo 1');
});
