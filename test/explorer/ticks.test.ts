import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, actions, DEAD_LETTERS, done, rows, select } from './page-steps.ts';

/** Which messages are ticked after work, and after one has looked for others. */

test('messages stay ticked after an error, and are let go when one looks for others', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }, { Body: 'b' }, { Body: 'c' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1, 3);
  await actions(page).getByRole('button', { name: 'Resubmit', exact: true }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('nowhere');
  await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click();
  await page.getByRole('alert').getByText('nowhere').waitFor();
  await done(page, '3 messages shown, 2 selected. This is the end of the queue.');
  const ticked = () => rows(page).getByRole('checkbox', { checked: true }).count();
  assert.equal(await ticked(), 2);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Declined 3' }).click();
  await done(page, '3 messages shown. This is the end of the queue.');
  assert.equal(await ticked(), 0);
});

test('those that are gone are not ticked, and only those that are shown are counted', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, lock, settle, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'locked' }, { Body: 'b' }, { Body: 'c' }], 'Declined');
  await lock('q/$deadletterqueue');
  const page = await open(DEAD_LETTERS);
  const all = page.getByLabel('Select all that are shown');
  await done(page, '3 messages shown. This is the end of the queue.');
  await all.check();
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 2 of 3 from q/$deadletterqueue.');
  await done(page, '1 message shown, 1 selected. This is the end of the queue.');
  assert.ok(await all.isChecked());
  // One of those that were resubmitted comes again, and is not ticked.
  await settle('q', await lock('q'), { outcome: 'deadLetter' });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await done(page, '2 messages shown, 1 selected. This is the end of the queue.');
  assert.ok(!(await all.isChecked()));
});

test('who resubmits what is gone is told so', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }, { Body: 'b' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1, 2);
  await client.request('POST', 'q/$deadletterqueue/messages/$purge');
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 0 of 2 from q/$deadletterqueue.');
  await page.getByText('1 not done').click();
  await done(page, '2 messages: They are not there any more.');
});
