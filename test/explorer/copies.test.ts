import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, actions, DEAD_LETTERS, done, goTo, hold, select } from './page-steps.ts';

/** Messages that go elsewhere, and what keeps them where they are. */

test('a changed copy of an active message is sent to its queue, or to a topic, and the message stays', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await create('news', { kind: 'topic' });
  await create('news/subscriptions/all', {});
  await send('q', [{ Body: 'first' }]);
  const page = await open('#/entity/q');
  const dialog = page.getByRole('dialog', { name: 'Send a copy of message 1' });
  for (const to of ['q', 'news']) {
    await select(page, 1);
    await actions(page).getByRole('button', { name: 'Send a copy' }).click();
    await dialog.getByLabel('Send it to').fill(to);
    await dialog.getByLabel('Body', { exact: true }).fill(`copy for ${to}`);
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  assert.deepEqual(await bodies('q'), ['first', 'copy for q']);
  assert.deepEqual(await bodies('news/subscriptions/all'), ['copy for news']);
});

test('a dialog stays while its copy is on the way, and who has left it is told what came of it', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  const deletions = await hold(page, /\$delete/);
  const requested = page.waitForRequest(/\$delete/);
  await actions(page).getByRole('button', { name: 'Edit and resubmit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await requested;
  const openings = await page.evaluateHandle(`(() => {
    const seen = [];
    const observer = new MutationObserver((changes) => seen.push(...changes));
    observer.observe(document.querySelector('dialog'), { attributeFilter: ['open'] });
    return seen;
  })()`);
  // Of several close requests without a click between them, a browser lets the page prevent only the first.
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape');
  assert.deepEqual(await openings.jsonValue(), [], 'it was neither closed nor opened again');
  assert.ok(await dialog.isVisible());
  await goTo(page, '#/');
  await page.getByRole('heading', { level: 1, name: '1 entity' }).waitFor();
  deletions.release();
  await done(page, 'Sent a copy of message 1 to q, and deleted the dead letter.');
  assert.deepEqual(await bodies('q'), ['a']);
});

test('an edited dead letter of a queue that goes to a topic stays', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await create('news', { kind: 'topic' });
  await create('news/subscriptions/all', {});
  await deadLetter('q', [{ Body: 'wrong' }], 'Declined');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  await actions(page).getByRole('button', { name: 'Edit and resubmit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Send it to').fill('news');
  await dialog.getByLabel('Body', { exact: true }).fill('right');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await bodies('news/subscriptions/all'), ['right']);
  assert.deepEqual(await bodies('q/$deadletterqueue'), ['wrong']);
});

test('dead letters of a subscription are resubmitted to it, and to another queue', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, lock, settle, bodies, open } = await startExplorer(t);
  const path = 'news/subscriptions/all';
  await create('news', { kind: 'topic' });
  for (const name of ['all', 'others']) await create(`news/subscriptions/${name}`, {});
  await create('repair', { kind: 'queue' });
  await send('news', [{ Body: 'one' }, { Body: 'two' }]);
  for (let i = 0; i < 2; i++) await settle(path, await lock(path), { outcome: 'deadLetter' });
  const page = await open('#/entity/news%2FSubscriptions%2Fall?tab=dead-letter');
  await select(page, 1);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 1 of 1 from news/Subscriptions/all/$deadletterqueue.');
  assert.deepEqual(await bodies(path), ['one']);
  assert.deepEqual(await bodies('news/subscriptions/others'), ['one', 'two'], 'it has its own');
  await page.getByText('1 message shown.').waitFor();
  await actions(page).getByRole('button', { name: 'Resubmit all' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('repair');
  await page.getByRole('dialog').getByRole('button', { name: 'Resubmit all' }).click();
  await page.getByText('No dead letters.').waitFor();
  assert.deepEqual(await bodies('repair'), ['two']);
});

test('the lock of a dead letter is broken, and then it can be resubmitted', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, lock, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'held' }], 'Declined');
  await lock('q/$deadletterqueue');
  const page = await open(DEAD_LETTERS);
  await select(page, 1);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 0 of 1 from q/$deadletterqueue.');
  await page.getByText('1 not done').click();
  await page.getByText(/message 1: It stays: it is locked/).waitFor();
  await select(page, 1);
  await act(page, 'Break lock');
  await done(page, 'Broke locks: 1 of 1 from q/$deadletterqueue.');
  await select(page, 1);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 1 of 1 from q/$deadletterqueue.');
  assert.deepEqual(await bodies('q'), ['held']);
});

test('what could not be forwarded is seen in the overview, and resubmitted from its own tab', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, bodies, open } = await startExplorer(t);
  await create('target', { kind: 'queue' });
  await create('source', { kind: 'queue', forwardTo: 'target' });
  assert.equal((await client.request('DELETE', 'target')).status, 200);
  await send('source', [{ Body: 'lost' }]);
  const page = await open();
  await page.getByRole('heading', { name: '1 entity, 1 dead letter' }).waitFor();
  const cells = page.getByRole('row', { name: 'source queue' }).getByRole('cell');
  assert.deepEqual((await cells.allInnerTexts()).slice(0, 5), ['0', '0', '0', '0', '1']);
  await page.getByRole('link', { name: 'source' }).click();
  await page.getByRole('link', { name: 'Transfer dead-letter 1' }).waitFor();
  assert.match(page.url(), /\?tab=transfer$/);
  await page.getByRole('button', { name: 'MessagingEntityNotFound 1' }).waitFor();
  await create('target', { kind: 'queue' });
  await goTo(page, '#/entity/source?tab=transfer');
  await select(page, 1);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 1 of 1 from source/$transfer/$deadletterqueue.');
  assert.deepEqual(await bodies('target'), ['lost']);
  await page.getByText(/^Nothing here/).waitFor();
});
