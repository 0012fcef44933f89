import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { loseAnswer, rows } from './page-steps.ts';

/** Counts that the page reads again by itself. The tests move the page's clock, and wait for nothing else. */

const LIST = /\$entities/;
/** Somewhat more than the pause between two readings of a local namespace. */
const PAUSE_MS = 5_500;
const OLD_MS = 20_000;

const heldClock = { prepare: (page: Page) => page.clock.install() };

test('the overview reads itself again, draws how counts went, and marks them when they are old', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  let readings = 0;
  let isUp = true;
  const page = await open('', {
    prepare: async (page) => {
      await page.clock.install();
      await page.route(LIST, async (route) => {
        readings++;
        if (isUp) await route.continue();
        else await route.abort();
      });
    },
  });
  const active = rows(page).locator('td').nth(1);
  await active.getByText('0', { exact: true }).waitFor();
  const sparkline = page.locator('svg.sparkline');
  if (readings === 1) assert.equal(await sparkline.count(), 0, 'one reading is no trend');
  await send('q', [{ Body: 'a' }]);
  await page.clock.fastForward(PAUSE_MS);
  await active.getByText('1', { exact: true }).waitFor();
  assert.match((await sparkline.textContent()) ?? '', /\+1 while this page was open/);

  isUp = false;
  await page.clock.fastForward(OLD_MS);
  await page.getByText(/^No answer from http/).waitFor();
  await page.locator('.freshness.old', { hasText: /^Not updated for \d+ s/ }).waitFor();
  assert.equal(await active.textContent(), '1', 'what was read last stays');

  isUp = true;
  await page.clock.fastForward(PAUSE_MS);
  await page.getByText(/^Updated \d s ago/).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('counts of an entity are read again, and what somebody writes into its settings stays', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=settings', heldClock);
  const duration = page.getByLabel('Lock duration');
  await duration.fill('PT30S');
  await page.getByRole('link', { name: 'Active 0' }).waitFor();
  await send('q', [{ Body: 'a' }]);
  await page.clock.fastForward(PAUSE_MS);
  await page.getByRole('link', { name: 'Active 1' }).waitFor();
  assert.equal(await duration.inputValue(), 'PT30S');
});

test('settings that somebody else has changed are read again, and can be saved then', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=settings');
  const duration = page.getByLabel('Lock duration');
  await duration.fill('PT30S');
  const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
  const body = '{"kind":"queue","maxDeliveryCount":4}';
  assert.equal((await client.request('PUT', 'q', { headers, body })).status, 200);
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('alert')
    .getByText(/Tracking id/)
    .waitFor();
  assert.equal(await duration.inputValue(), 'PT30S', 'it is there to be copied');
  await page.getByRole('button', { name: 'Read the settings again' }).click();
  await page.locator('input[name=maxDeliveryCount][value="4"]').waitFor();
  await duration.fill('PT20S');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const saved = await client.request('GET', 'q', { headers: { Accept: 'application/json' } });
  const { lockDuration, maxDeliveryCount } = (await saved.json()) as Record<string, unknown>;
  assert.deepEqual([lockDuration, maxDeliveryCount], ['PT20S', 4]);
});

test('settings that may be saved, since the answer was lost, can be read again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=settings');
  const duration = page.getByLabel('Lock duration');
  await duration.waitFor();
  await loseAnswer(page, /\/q$/, 'PUT');
  await page.getByLabel('Maximum delivery count').fill('7');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('The request may have taken effect.').waitFor();
  await page.getByRole('button', { name: 'Read the settings again' }).click();
  await page.locator('input[name=maxDeliveryCount][value="7"]').waitFor();
  await duration.fill('PT20S');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
});

test('the overview shows those with dead letters only, and sorts by what one clicks', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, deadLetter, open } = await startExplorer(t);
  for (const name of ['queue-10', 'queue-2', 'queue-1']) await create(name, { kind: 'queue' });
  await deadLetter('queue-2', [{ Body: 'a' }], 'Declined');
  await send('queue-10', [{ Body: 'b' }]);
  const page = await open();
  const names = rows(page).locator('th a');
  const sorted = async (title: string, ...expected: readonly string[]) => {
    const head = page.getByRole('columnheader', { name: title, exact: true });
    await head.getByRole('button').click();
    await page.locator('th[aria-sort$=ending]', { hasText: title }).waitFor();
    assert.deepEqual(await names.allTextContents(), expected, title);
  };
  await names.first().waitFor();
  await sorted('Entity', 'queue-1', 'queue-2', 'queue-10');
  await sorted('Active', 'queue-10', 'queue-1', 'queue-2');
  await sorted('Dead letters', 'queue-2', 'queue-1', 'queue-10');
  await page.getByLabel('Dead letters only').check();
  await page.getByRole('link', { name: 'queue-1', exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(await names.allTextContents(), ['queue-2']);
  await page.getByRole('searchbox').fill('10');
  await page.getByText('No entity matches the filter.').waitFor();
});
