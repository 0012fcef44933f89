import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { actions, DEAD_LETTERS, done } from './page-steps.ts';

/** A whole queue is emptied, and nothing that is not in the file before it goes unnoticed. */

const JSON_BODY = { 'Content-Type': 'application/json' };
const dialogOf = (page: Page) => page.getByRole('dialog');
const isSaved = (page: Page) => page.getByRole('button', { name: /^The file is saved/ });

/** Begins a purge with an export; resolves when the file is there. */
async function exportFirst(page: Page, name: string): Promise<void> {
  await actions(page).getByRole('button', { name: 'Purge…' }).click();
  await dialogOf(page).getByRole('textbox').fill(name);
  const download = page.waitForEvent('download');
  await dialogOf(page).getByRole('button', { name: 'Purge', exact: true }).click();
  await download;
}

test('what comes between an export and its purge is not removed without a word', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, lock, settle, client, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  // The late one has the lower number, and there are as many as were exported.
  await send('q', [{ Body: 'late' }, { Body: 'exported' }, { Body: 'kept' }]);
  const [late, ...others] = [await lock('q'), await lock('q'), await lock('q')];
  for (const one of others) await settle('q', one, { outcome: 'deadLetter' });
  const page = await open(DEAD_LETTERS);
  await exportFirst(page, 'q');
  await isSaved(page).waitFor();
  await settle('q', late, { outcome: 'deadLetter' });
  const body = JSON.stringify({ sequenceNumbers: [2] });
  await client.request('POST', 'q/$deadletterqueue/messages/$delete', { body, headers: JSON_BODY });
  const left = ['late', 'kept'];
  assert.deepEqual(await bodies('q/$deadletterqueue'), left);
  await isSaved(page).click();
  await done(page, 'Not purged: q/$deadletterqueue has messages that are not in the file.');
  assert.deepEqual(await bodies('q/$deadletterqueue'), left);
  await page.getByRole('button', { name: 'Purge q/$deadletterqueue all the same' }).click();
  await done(page, 'Purged q/$deadletterqueue: all its messages are removed.');
  assert.deepEqual(await bodies('q/$deadletterqueue'), []);
});

test('a message of a session that nobody can list, and that came after the export, is counted', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue', requiresSession: true });
  await send('q', [{ Body: 'active', BrokerProperties: { SessionId: 'a' } }]);
  const page = await open('#/entity/q?tab=active');
  await exportFirst(page, 'q');
  await isSaved(page).waitFor();
  await send('q', [{ Body: 'later', BrokerProperties: inAnHour('b') }]);
  await isSaved(page).click();
  await done(page, 'Not purged: q has messages that are not in the file.');
  const text = await (await client.request('GET', 'q/messages?sessionId=b')).text();
  assert.match(text, /"Body":"later"/);
});

test('if the file lacks messages of the queue, no purge is offered', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue', requiresSession: true });
  await send('q', [{ Body: 'active', BrokerProperties: { SessionId: 'a' } }]);
  await send('q', [{ Body: 'later', BrokerProperties: inAnHour('b') }]);
  const page = await open('#/entity/q?tab=active');
  await exportFirst(page, 'q');
  await done(page, 'Exported 1 of 2 from q.');
  await page.getByText('2 not done').click();
  await page.getByText(/^1 message: They are not in the file: /).waitFor();
  await page.getByText(/^the purge: It was not begun/).waitFor();
  assert.equal(await isSaved(page).count(), 0);
});

function inAnHour(SessionId: string): object {
  const ScheduledEnqueueTimeUtc = new Date(Date.now() + 3_600_000).toISOString();
  return { SessionId, ScheduledEnqueueTimeUtc };
}

for (const action of ['Purge…', 'Resubmit all', 'Resubmit filtered']) {
  test(`${action} does nothing to an entity that was created anew while its dialog was open`, {
    skip: NO_BROWSER,
  }, async (t) => {
    const { create, deadLetter, client, bodies, open } = await startExplorer(t);
    await create('q', { kind: 'queue' });
    await deadLetter('q', [{ Body: 'before' }], 'Declined');
    const page = await open(DEAD_LETTERS);
    await page.getByRole('button', { name: 'Declined 1' }).click();
    await actions(page).getByRole('button', { name: action, exact: true }).click();
    if (action === 'Purge…') {
      await dialogOf(page).getByRole('textbox').fill('q');
      await dialogOf(page).getByLabel('Export its messages first').uncheck();
    }
    await client.request('DELETE', 'q');
    await create('q', { kind: 'queue' });
    await deadLetter('q', [{ Body: 'after' }], 'Declined');
    await dialogOf(page)
      .getByRole('button', { name: /^(Purge|Resubmit)/ })
      .click();
    await page.getByText(/^Nothing was changed: q was deleted and created anew/).waitFor();
    assert.deepEqual(await bodies('q/$deadletterqueue'), ['after']);
  });
}
