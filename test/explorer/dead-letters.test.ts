import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, actions, DEAD_LETTERS, done, select } from './page-steps.ts';

/** What somebody on call does with dead letters. */

test('all dead letters are resubmitted, and new ones that come meanwhile do not go round', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'one' }, { Body: 'two' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await act(page, 'Resubmit all');
  await done(page, 'Resubmitted 2 of 2 from q/$deadletterqueue.');
  assert.deepEqual(await bodies('q'), ['one', 'two']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), []);
});

test('dead letters of one reason are found and resubmitted', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }, { Body: 'b' }], 'Declined');
  await deadLetter('q', [{ Body: 'c' }], 'Timeout');
  const page = await open(DEAD_LETTERS);
  await page.getByRole('button', { name: 'Declined 2' }).click();
  await page
    .getByText('2 messages shown of 3 that were looked at. This is the end of the queue.')
    .waitFor();
  await act(page, 'Resubmit filtered', 'Resubmit');
  await done(page, 'Resubmitted 2 from q/$deadletterqueue.');
  assert.deepEqual(await bodies('q'), ['a', 'b']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['c']);
  await page.getByText('No message matches the filter.').waitFor();
  await page.getByRole('button', { name: 'Declined 0', pressed: true }).click();
  await page.getByText('1 message shown. This is the end of the queue.').waitFor();
});

test('messages of an entity that was created anew are not taken for those of before', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, client, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'before' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  await actions(page).getByRole('button', { name: 'Delete', exact: true }).click();
  await client.request('DELETE', 'q');
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'after' }], 'Declined');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/^Nothing was changed: q was deleted and created anew/).waitFor();
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['after']);
});

test('an answer that the service did not write may mean that all was done', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await page.route(/\$resubmit/, async (route) => {
    await route.fetch();
    await route.fulfill({ status: 503, body: '' });
  });
  await select(page, 1);
  await act(page, 'Resubmit');
  await page.getByRole('alert').getByText('The request may have taken effect.').waitFor();
});

test('dead letters go to another queue, and those that it refuses stay with the reason', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await create('repair', { kind: 'queue', requiresSession: true });
  const session = { BrokerProperties: { SessionId: 's' } };
  await deadLetter('q', [{ Body: 'fits', ...session }, { Body: 'does not' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1, 2);
  await actions(page).getByRole('button', { name: 'Resubmit', exact: true }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('repair');
  await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click();
  await done(page, 'Resubmitted 1 of 2 from q/$deadletterqueue.');
  await page.getByText('1 not done').click();
  await page.getByText(/message 2: .*requires sessions/).waitFor();
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['does not']);
});

test('a dead letter is edited and resubmitted', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, bodies, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const message = { Body: 'wrong', UserProperties: { Weight: 7.0, Long: { $long: '7' } } };
  await deadLetter('q', [message], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  await actions(page).getByRole('button', { name: 'Edit and resubmit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Body', { exact: true }).fill('right');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await bodies('q'), ['right']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), []);
  const text = await (await client.request('GET', 'q/messages')).text();
  assert.match(text, /"Long":\{"\$long":"7"\}/, 'the type stays');
  assert.doesNotMatch(text, /DeadLetterReason/);
});

test('a copy that its queue would drop as a duplicate is refused, and the original stays', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue', requiresDuplicateDetection: true });
  await deadLetter('q', [{ Body: 'wrong', BrokerProperties: { MessageId: 'm' } }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  await actions(page).getByRole('button', { name: 'Edit and resubmit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByText(/q detects duplicates: .* such as m-2/).waitFor();
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['wrong']);
  await dialog.getByLabel('Message id').fill('m-2');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await bodies('q'), ['wrong']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), []);
});

test('an edited dead letter of a subscription goes to its topic, and the original stays', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, lock, settle, bodies, open } = await startExplorer(t);
  await create('news', { kind: 'topic' });
  await create('news/subscriptions/all', {});
  await send('news', [{ Body: 'wrong' }]);
  const path = 'news/subscriptions/all';
  await settle(path, await lock(path), { outcome: 'deadLetter' });
  const page = await open('#/entity/news%2FSubscriptions%2Fall?tab=dead-letter');
  await select(page, 1);
  await actions(page).getByRole('button', { name: 'Edit and resubmit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Body', { exact: true }).fill('right');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await bodies(path), ['right']);
  assert.deepEqual(await bodies(`${path}/$deadletterqueue`), ['wrong']);
});

test('an export has all messages, one a line', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'one' }, { Body: 'two' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  const download = page.waitForEvent('download');
  await act(page, 'Export all', 'Export');
  const file = await (await download).path();
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).Body),
    ['one', 'two'],
  );
});
