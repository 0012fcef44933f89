import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { DEAD_LETTERS, hold, rows } from './page-steps.ts';

/** How messages are looked for. */

/** More than the page looks at in vain until somebody asks for more. */
const MANY = 5_300;
const BATCH = 530;

test('messages are found by text, property and number, and by all of them together', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'It is time', UserProperties: { Tier: 'gold' } }], 'Declined');
  await deadLetter('q', [{ Body: 'order 17', UserProperties: { Tier: 'gold', Count: 7 } }], 'Late');
  await deadLetter('q', [{ Body: 'order 18', UserProperties: { Tier: 'tin' } }], 'Late');
  await send('q', [{ Body: 'alive' }]);
  const page = await open(DEAD_LETTERS);
  await page.getByText('3 messages shown.').waitFor();
  const finds = async (
    fields: Readonly<Record<string, string>>,
    ...expected: readonly number[]
  ) => {
    for (const label of ['From sequence number', 'Text', 'Property']) {
      await page.getByLabel(label, { exact: true }).fill(fields[label] ?? '');
    }
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await requireNumbers(page, expected, JSON.stringify(fields));
  };
  // Each message has system properties such as EnqueuedTimeUtc, so a number alone may also be found in a time.
  await finds({ Text: 'TIME' }, 1);
  await finds({ Text: 'order' }, 2, 3);
  await finds({ Property: 'tier=gold' }, 1, 2);
  await finds({ Property: 'Count=7' }, 2);
  await finds({ Property: 'Count' }, 2);
  await finds({ 'From sequence number': '2' }, 2, 3);
  await finds({ Text: 'order', Property: 'tier=tin', 'From sequence number': '2' }, 3);
  await finds({}, 1, 2, 3);
  // A reason counts together with what is written, also if nobody has pressed Search.
  await page.getByLabel('Text', { exact: true }).fill('order 18');
  await page.getByRole('button', { name: 'Late 2' }).click();
  await requireNumbers(page, [3], 'Late with order 18');
  await page.getByRole('button', { name: 'Late 2', pressed: true }).click();
  await page.getByLabel('Text', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Declined 1' }).click();
  await requireNumbers(page, [1], 'Declined');
});

test('a search asks before it looks through a long queue, and can be stopped', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  for (let sent = 0; sent < MANY; sent += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => ({ Body: `body ${sent + i + 1}.` }));
    await send('q', batch);
  }
  const page = await open('#/entity/q');
  await page.getByText('100 messages shown.').waitFor();
  await page.getByLabel('Text', { exact: true }).fill(`body ${MANY}.`);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('0 messages shown of 5,000 that were looked at.').waitFor();
  const whole = page.getByRole('button', { name: 'Search the whole queue' });
  const peeks = await hold(page, /\/q\/messages\?/);
  await whole.click();
  await page.getByRole('button', { name: 'Stop' }).click();
  peeks.release();
  await page.getByText('0 messages shown of 5,250 that were looked at.', { exact: true }).waitFor();
  await whole.click();
  await page
    .getByText('1 message shown of 5,300 that were looked at. This is the end of the queue.')
    .waitFor();
  await requireNumbers(page, [MANY], 'the whole queue');
});

async function requireNumbers(page: Page, expected: readonly number[], what: string) {
  await page.getByText(new RegExp(`^${expected.length} messages? shown`)).waitFor();
  await page.getByRole('button', { name: String(expected[0]), exact: true }).waitFor();
  const numbers = await rows(page).locator('th').allTextContents();
  assert.deepEqual(numbers, expected.map(String), what);
}
