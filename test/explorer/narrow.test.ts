import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { requireNoOverflow } from './axe.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, DEAD_LETTERS, done, rows, select } from './page-steps.ts';

const PHONE = { width: 360, height: 700 };
const LETTERS = 40;

test('on a phone, dead letters are looked at and resubmitted', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const letters = Array.from({ length: LETTERS }, (_, i) => ({ Body: `body ${i + 1}` }));
  await deadLetter('q', letters, 'Declined');
  const page = await open(DEAD_LETTERS, PHONE);
  // The browser clicks only what nothing else covers.
  for (const number of [1, 3]) {
    await rows(page).getByText(`body ${number}`, { exact: true }).click();
    await page.getByRole('complementary', { name: `Message ${number}` }).waitFor();
    await requireNoOverflow(page, 'with details');
    await page.getByRole('button', { name: 'Close' }).click();
  }
  await select(page, 2);
  await act(page, 'Resubmit');
  await done(page, 'Resubmitted 1 of 1 from q/$deadletterqueue.');
  for (const top of [0, 1e6]) {
    await page.evaluate(`scrollTo(0, ${top})`);
    await requireSeen(page, page.getByRole('region', { name: 'Work' }));
  }
  await requireNoOverflow(page, 'with the line of work');
});

/** Fails if somebody would have to scroll to see it all. */
async function requireSeen(page: Page, part: Locator): Promise<void> {
  const box = await part.boundingBox();
  const { height = 0 } = page.viewportSize() ?? {};
  assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, JSON.stringify(box));
}
