import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { goTo } from './page-steps.ts';

/** What becomes of settings that somebody writes. */

const SETTINGS = '#/entity/q?tab=settings';

test('settings that are written and not saved are there again after a look at something else', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await create('other', { kind: 'queue' });
  const page = await open(SETTINGS);
  const duration = page.getByLabel('Lock duration');
  await duration.fill('PT30S');
  await page.getByLabel('Status').selectOption('SendDisabled');
  await page.getByLabel('Dead-letter expired messages').check();
  await page.getByRole('link', { name: 'Receive' }).click();
  await page.getByRole('button', { name: 'Receive one' }).waitFor();
  await goTo(page, '#/entity/other?tab=settings');
  await page.getByRole('button', { name: 'Delete other…' }).waitFor();
  assert.equal(await duration.inputValue(), 'PT1M', 'of another entity');
  await goTo(page, SETTINGS);
  await page.getByText('Not saved yet.').waitFor();
  assert.equal(await duration.inputValue(), 'PT30S');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  const saved = await client.request('GET', 'q', { headers: { Accept: 'application/json' } });
  const json = (await saved.json()) as Record<string, unknown>;
  assert.deepEqual(
    [json['lockDuration'], json['status'], json['deadLetteringOnMessageExpiration']],
    ['PT30S', 'SendDisabled', true],
  );

  await duration.fill('PT20S');
  await page.getByRole('link', { name: 'Receive' }).click();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Read the settings again' }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  assert.equal(await duration.inputValue(), 'PT30S', 'what is stored');
});

test('settings that were saved and could not be read then are saved, and are read again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open(SETTINGS);
  let isSaved = false;
  await page.route('**/q', async (route) => {
    if (route.request().method() === 'GET' && isSaved) return await route.abort();
    isSaved ||= route.request().method() === 'PUT';
    await route.continue();
  });
  const duration = page.getByLabel('Lock duration');
  await duration.fill('PT30S');
  const save = page.getByRole('button', { name: 'Save' });
  await save.click();
  await page.getByText('Saved. What is stored now could not be read:').waitFor();
  await page.locator('form').getByRole('alert').getByText('No answer from').waitFor();
  assert.equal(await save.isDisabled(), true, 'it would be refused as if somebody else had saved');
  await page.unroute('**/q');
  await page.getByRole('button', { name: 'Read the settings again' }).click();
  await page.locator('form').getByRole('alert').waitFor({ state: 'detached' });
  await duration.fill('PT20S');
  await save.click();
  await page.getByText('Saved.', { exact: true }).waitFor();
});
