import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { requireNoOverflow } from './axe.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, DEAD_LETTERS, done, focused, rows, select } from './page-steps.ts';

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

test('on a phone, Escape closes the details, and the row has the focus again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }, { Body: 'b' }]);
  const page = await open('#/entity/q', PHONE);
  await page.getByRole('button', { name: '2', exact: true }).press('Enter');
  const details = page.getByRole('complementary', { name: 'Message 2' });
  await details.waitFor();
  await page.keyboard.press('Escape');
  await details.waitFor({ state: 'detached' });
  assert.equal(await focused(page).textContent(), '2');
});

test('long names fit on a phone, and on a tablet names are not cut for the sake of other columns', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  const long = `orders/${'x'.repeat(120)}`;
  await create(long, { kind: 'queue' });
  await create('invoices-overdue', { kind: 'queue' });
  await deadLetter('invoices-overdue', [{ Body: 'a' }], 'Declined');
  const page = await open(`#/entity/${encodeURIComponent(long)}`, PHONE);
  await page.getByRole('heading', { name: long }).waitFor();
  await requireNoOverflow(page, 'a long name');

  const tablet = await open('#/', { width: 700, height: 900 });
  const name = tablet.getByRole('link', { name: 'invoices-overdue' });
  await name.waitFor();
  const cell = tablet.getByRole('rowheader').filter({ has: name });
  const [inner, outer] = [await name.boundingBox(), await cell.boundingBox()];
  assert.ok(inner !== null && outer !== null);
  assert.ok(inner.x + inner.width <= outer.x + outer.width, 'the name is not cut');
  const header = await tablet.getByRole('banner').boundingBox();
  assert.ok(header !== null && header.height < 110, `the header takes ${header?.height} px`);
});

/** Fails if somebody would have to scroll to see it all. */
async function requireSeen(page: Page, part: Locator): Promise<void> {
  const box = await part.boundingBox();
  const { height = 0 } = page.viewportSize() ?? {};
  assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, JSON.stringify(box));
}
