import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Json } from '../support/json-management.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { loseAnswer } from './page-steps.ts';

/** How consumers go, and what one can do about it. */

const NOBODY = 'http://127.0.0.1:9/';
/** Looks at the consumers, each of which takes requests. */
const TRIES_MAX = 300;

test('a consumer whose target cannot be reached says why and until when it waits, and is tried, disabled and enabled', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ target: NOBODY });
  for (const path of ['q', 'q/$deadletterqueue']) {
    const put = await client.request('PUT', `${path}/consumers/worker`, { headers, body });
    assert.equal(put.status, 201);
  }
  await send('q', [{ Body: 'a' }]);
  const page = await open('#/entity/q?tab=consumers');
  const card = cardOf(page, 'q');
  const tryNow = card.getByRole('button', { name: 'Try now' });
  await refreshUntil(page, tryNow);
  await card.getByText(NOBODY, { exact: true }).waitFor();
  await card.getByText(/^(?:pushing|waiting), tries again at \d{4}-/).waitFor();
  await card.locator('.notice.bad', { hasText: /^\d{4}-.*ECONNREFUSED/ }).waitFor();
  const idle = cardOf(page, 'q/$deadletterqueue');
  await idle.waitFor();
  assert.equal(await idle.locator('.notice').count(), 0, 'it has nothing to do');

  const consumer = async () =>
    (await (await client.request('GET', 'q/consumers/worker')).json()) as Json;
  const before = await consumer();
  // To replace a consumer ends its pause.
  const replaced = page.waitForResponse((one) => one.request().method() === 'PUT');
  await tryNow.click();
  assert.equal((await replaced).status(), 200);
  const request = (await replaced).request();
  assert.match(request.url(), /\/q\/consumers\/worker$/);
  assert.deepEqual(
    [request.postDataJSON().target, request.postDataJSON().enabled],
    [NOBODY, before['enabled']],
  );

  await card.getByRole('button', { name: 'Disable' }).click();
  await card.getByText(/^disabled/).waitFor();
  assert.equal((await consumer())['enabled'], false);
  await card.getByRole('button', { name: 'Enable' }).click();
  await card.getByRole('button', { name: 'Disable' }).waitFor();
  assert.equal((await consumer())['enabled'], true);
});

test('a consumer is shown as it is after a change whose answer was lost', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ target: NOBODY });
  await client.request('PUT', 'q/consumers/worker', { headers, body });
  const page = await open('#/entity/q?tab=consumers');
  const card = cardOf(page, 'q');
  await loseAnswer(page, /\/consumers\/worker/, 'PUT');
  await card.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('alert').getByText('The request may have taken effect.').waitFor();
  await card.getByRole('button', { name: 'Enable' }).waitFor();
  await card.getByText(/^disabled/).waitFor();
});

function cardOf(page: Page, path: string): Locator {
  return page.getByRole('listitem').filter({
    has: page.getByRole('heading', { name: `worker ${path}`, exact: true }),
  });
}

/** Reads the consumers again and again until something is there. */
async function refreshUntil(page: Page, part: Locator): Promise<void> {
  for (let tries = 0; !(await part.isVisible()); tries++) {
    assert.ok(tries < TRIES_MAX, (await page.locator('main').textContent()) ?? '');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('button', { name: 'Refresh', disabled: false }).waitFor();
  }
}
