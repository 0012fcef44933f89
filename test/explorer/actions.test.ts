import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, actions, DEAD_LETTERS, done, select } from './page-steps.ts';

/** What else can be done with messages. */

test('selected dead letters are resubmitted', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'one' }, { Body: 'two' }, { Body: 'three' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1, 3);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 2 of 2 from q/$deadletterqueue.');
  assert.deepEqual(await bodies('q'), ['one', 'three']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['two']);
  await page.getByText('1 message shown. This is the end of the queue.').waitFor();
});

test('purge asks for the name, keeps a copy, and empties only the queue that it names', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'dead' }], 'Declined');
  await send('q', [{ Body: 'alive' }]);
  const page = await open(DEAD_LETTERS);
  await actions(page).getByRole('button', { name: 'Purge…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('messages of q/$deadletterqueue').waitFor();
  const purge = dialog.getByRole('button', { name: 'Purge', exact: true });
  assert.equal(await purge.isDisabled(), true);
  await dialog.getByRole('textbox').fill('q');
  const download = page.waitForEvent('download');
  await purge.click();
  assert.match((await download).suggestedFilename(), /^q-dead-letter-.+\.jsonl$/);
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['dead'], 'until the file is saved');
  await page.getByRole('button', { name: 'The file is saved: purge q/$deadletterqueue' }).click();
  await done(page, 'Purged q/$deadletterqueue: all its messages are removed.');
  assert.deepEqual(await bodies('q/$deadletterqueue'), []);
  assert.deepEqual(await bodies('q'), ['alive']);
});

test('a deleted message can be sent again', { skip: NO_BROWSER }, async (t) => {
  const { create, send, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'kept' }, { Body: 'gone' }]);
  const page = await open('#/entity/q');
  await select(page, 2);
  await act(page, 'Delete');
  await done(page, 'Deleted 1 of 1 from q.');
  assert.deepEqual(await bodies('q'), ['kept']);
  await page.getByRole('button', { name: 'Send them again' }).click();
  await done(page, 'Sent again 1 of 1 to q.');
  assert.deepEqual(await bodies('q'), ['kept', 'gone']);
});

test('active messages are dead-lettered with a reason, and what is locked says so', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, lock, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'locked' }, { Body: 'free' }]);
  await lock('q');
  const page = await open('#/entity/q');
  await select(page, 1, 2);
  await actions(page).getByRole('button', { name: 'Dead-letter', exact: true }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('Manual');
  await page.getByRole('dialog').getByRole('button', { name: 'Dead-letter' }).click();
  await done(page, 'Dead-lettered 1 of 2 from q.');
  await page.getByText('1 not done').click();
  await page.getByText(/message 1: It is locked/).waitFor();
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['free']);
  await select(page, 1);
  await act(page, 'Break lock');
  await done(page, 'Broke locks: 1 of 1 from q.');
});

test('a deferred message is reactivated', { skip: NO_BROWSER }, async (t) => {
  const { create, send, lock, settle, open, client } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'later' }]);
  await settle('q', await lock('q'), { outcome: 'defer' });
  const page = await open('#/entity/q?tab=deferred');
  await select(page, 1);
  await act(page, 'Reactivate');
  await done(page, 'Reactivated 1 of 1 from q.');
  assert.equal(await client.take('q'), 'later');
});

test('scheduled messages show when they are due, are cancelled, and can be scheduled again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const due = new Date(Date.now() + 2 * 3_600_000).toISOString();
  await send('q', [{ Body: 'later', BrokerProperties: { ScheduledEnqueueTimeUtc: due } }]);
  const page = await open('#/entity/q?tab=scheduled');
  await page.getByText(/^(?:2 h|1[12]\d min)/).waitFor();
  await select(page, 1);
  await act(page, 'Cancel scheduled…', 'Cancel 1 message');
  await done(page, 'Cancelled 1 of 1 from q.');
  assert.deepEqual(await bodies('q'), []);
  await page.getByRole('button', { name: 'Schedule them again' }).click();
  await done(page, 'Sent again 1 of 1 to q.');
  assert.deepEqual(await bodies('q'), ['later']);
});
