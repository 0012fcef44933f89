import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireAccessible } from './axe.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { rows } from './page-steps.ts';

/** A server that does not answer. */

test('a page that cannot begin says why, and tries again', { skip: NO_BROWSER }, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('', {
    prepare: (page) =>
      page.route('**/about.json', (route) => route.fulfill({ status: 503 }), { times: 1 }),
  });
  await page.getByRole('heading', { name: 'The explorer cannot start' }).waitFor();
  await page.getByText('The server answers with status 503.').waitFor();
  await requireAccessible(page, 'a page that cannot begin');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'q' }).waitFor();
});

test('without a server, the overview and an entity keep what they have and say so, and go on later', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open();
  const link = page.getByRole('link', { name: 'q', exact: true });
  await link.waitFor();
  const alert = page.getByRole('alert');
  const refresh = page.getByRole('button', { name: 'Refresh' });
  await page.route('**/*', (route) => route.abort());
  await refresh.click();
  await alert.getByText(/^No answer from http.*Check that the namespace runs/).waitFor();
  assert.equal(await rows(page).count(), 1);
  await page.unroute('**/*');
  await refresh.click();
  await alert.waitFor({ state: 'detached' });

  await link.click();
  await page.getByText('No active messages').waitFor();
  await page.route('**/*', (route) => route.abort());
  await refresh.click();
  // Of the entity, and of its messages.
  await alert.nth(1).waitFor();
  await page.getByRole('link', { name: 'Active 0' }).waitFor();
  await page.unroute('**/*');
  await refresh.click();
  await page.getByText('No active messages').waitFor();
  await alert.first().waitFor({ state: 'detached' });
});
