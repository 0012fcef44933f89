import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { focused, goTo } from './page-steps.ts';

/** The keys, and what somebody chooses for the whole page. */

/** Five hours and a half ahead of UTC, all the year. */
const AWAY = 'Asia/Kolkata';
const MINUTE_MS = 60_000;

test('the keys lead from the filter to a message, and back', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t);
  for (const name of ['a', 'b']) await create(name, { kind: 'queue' });
  await send('b', [{ Body: 'one' }, { Body: 'two' }]);
  const page = await open();
  const press = (key: string) => page.keyboard.press(key);
  const at = async (name: string) => assert.equal(await focused(page).textContent(), name);
  await page.getByRole('link', { name: 'a', exact: true }).waitFor();
  await page.getByLabel('Dead letters only').focus();
  await press('/');
  const search = page.getByRole('searchbox');
  await page.locator('input[type=search]:focus').waitFor();
  await page.keyboard.type('a/b');
  assert.equal(await search.inputValue(), 'a/b', 'there, it is a letter');
  await search.fill('');

  await page.getByRole('link', { name: 'a', exact: true }).focus();
  await press('ArrowDown');
  await at('b');
  await press('ArrowDown');
  await at('b');
  await press('ArrowUp');
  await at('a');
  await press('ArrowDown');
  await press('Enter');
  await page.getByRole('button', { name: '1', exact: true }).focus();
  await press('ArrowDown');
  await at('2');
  await press('x');
  const second = page.getByRole('checkbox', { name: 'Select message 2', exact: true });
  assert.equal(await second.isChecked(), true);
  await press('x');
  assert.equal(await second.isChecked(), false);
  await press('Enter');
  const details = page.getByRole('complementary', { name: 'Message 2' });
  await details.waitFor();
  await press('Escape');
  await details.waitFor({ state: 'detached' });
});

test('an arrow leads into the list from no place, and from the filter', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  for (const name of ['a', 'b']) await create(name, { kind: 'queue' });
  const page = await open();
  await page.getByRole('link', { name: 'a', exact: true }).waitFor();
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(page).textContent(), 'a');
  await page.keyboard.press('/');
  await page.keyboard.type('b');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(page).textContent(), 'b');
});

test('the arrows go through a list that is longer than what is drawn', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send(
    'q',
    Array.from({ length: 90 }, (_, i) => ({ Body: `body ${i + 1}` })),
  );
  const page = await open('#/entity/q');
  await page.getByRole('button', { name: '1', exact: true }).focus();
  for (let i = 1; i < 90; i++) await page.keyboard.press('ArrowDown');
  assert.equal(await focused(page).textContent(), '90');
  const last = page.getByRole('row').filter({ has: focused(page) });
  assert.equal(await last.getAttribute('aria-rowindex'), '91', 'the head is the first row');
  for (let i = 1; i < 90; i++) await page.keyboard.press('ArrowUp');
  assert.equal(await focused(page).textContent(), '1');

  // Keys that come faster than the browser draws: nothing is drawn between these.
  await page.evaluate(pressFast('ArrowDown', 89));
  assert.equal(await focused(page).textContent(), '90');
  await page.evaluate(pressFast('ArrowUp', 89));
  assert.equal(await focused(page).textContent(), '1');
});

/** A script that presses a key in one task of the page, where only microtasks come between. */
function pressFast(key: string, times: number): string {
  return `(async () => {
    for (let i = 0; i < ${times}; i++) {
      const event = new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
      await new Promise((done) => queueMicrotask(() => queueMicrotask(done)));
    }
  })()`;
}

test('light or dark is chosen by a button, and stays when the page is loaded again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { open } = await startExplorer(t);
  const page = await open();
  const colour = async () => String(await page.evaluate('getComputedStyle(document.body).color'));
  const light = await colour();
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  const dark = await colour();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await colour(), dark);
});

test('instants are written and read in local time, or in UTC, as somebody has chosen', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  // In UTC this is in two minutes. As a local time in India, it is long ago.
  const soon = new Date((await client.now()) + 2 * MINUTE_MS).toISOString().slice(0, 19);
  const page = await open('#/entity/q', { timezoneId: AWAY });
  const search = async (label: string) => {
    await page.getByLabel(label, { exact: true }).fill(soon);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
  };
  await search('Enqueued after');
  await page.getByText('1 message shown.').waitFor();
  await page.getByRole('button', { name: 'Times: local' }).click();
  await page.getByRole('cell', { name: / UTC$/ }).waitFor();
  await search('Enqueued after, UTC');
  await page.getByText('No message matches the filter.').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByText('1 message shown.').waitFor();

  await page.reload();
  await page.getByRole('button', { name: 'Times: UTC' }).waitFor();
  await goTo(page, '#/entity/q?tab=send');
  assert.equal(await sentFor(page, 'Not before, in UTC; empty = now'), '2040-01-15T12:00:00Z');
  await page.getByRole('button', { name: 'Times: UTC' }).click();
  const local = await sentFor(page, 'Not before, in local time; empty = now');
  assert.equal(local, '2040-01-15T06:30:00Z');
});

/** Sends a message that is due at noon, and resolves with when that is for the service. */
async function sentFor(page: Page, label: string): Promise<string> {
  await page.getByLabel(label).fill('2040-01-15T12:00:00');
  const request = page.waitForRequest((one) => one.url().endsWith('/q/messages'));
  await page.getByRole('button', { name: 'Send to q' }).click();
  const [{ BrokerProperties }] = (await request).postDataJSON();
  return String(BrokerProperties.ScheduledEnqueueTimeUtc).replace('.000', '');
}
