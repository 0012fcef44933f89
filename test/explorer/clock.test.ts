import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { loseAnswer, rows } from './page-steps.ts';

/** The clock of a local namespace. */

const HOUR_MS = 3_600_000;

test('after a move of the clock whose answer was lost, the page reads what time it is, and the counts', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('', { prepare: (page) => page.clock.install() });
  await page.getByRole('link', { name: 'q', exact: true }).waitFor();
  // Without its timers, the page reads only what the move makes it read.
  await page.clock.pauseAt(Date.now() + HOUR_MS);
  const before = await client.now();
  const soon = new Date(before + HOUR_MS).toUTCString();
  await send('q', [{ Body: 'a', BrokerProperties: { ScheduledEnqueueTimeUtc: soon } }]);

  await loseAnswer(page, /\$clock/, 'POST');
  await page.locator('.clock summary').click();
  await page.getByRole('button', { name: '+1 day', exact: true }).click();
  await page.getByText(/^No answer from .*The request may have taken effect\./).waitFor();
  const shown = await page.locator('.clock time').getAttribute('datetime');
  assert.ok(Date.parse(shown ?? '') - before > 23 * HOUR_MS, shown ?? '');
  assert.equal(await rows(page).locator('td').nth(1).textContent(), '1');
});

test('the buttons of the clock, which cover the page, close when somebody goes on elsewhere, and at Escape', {
  skip: NO_BROWSER,
}, async (t) => {
  const { open } = await startExplorer(t);
  const page = await open();
  const clock = page.locator('.clock summary');
  const button = page.getByRole('button', { name: '+1 h', exact: true });
  for (const leave of [
    () => page.getByRole('heading', { level: 1 }).click(),
    () => page.keyboard.press('Escape'),
    () => page.getByRole('searchbox').focus(),
  ]) {
    await clock.click();
    await button.waitFor();
    await page.getByText('Move the clock of this namespace ahead').click();
    await button.focus();
    await leave();
    await button.waitFor({ state: 'hidden' });
  }
});
