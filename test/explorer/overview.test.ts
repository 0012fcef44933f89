import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';

test('the overview has all entities, those with dead letters first and red', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, deadLetter, open } = await startExplorer(t);
  await create('calm', { kind: 'queue' });
  await create('payments', { kind: 'queue' });
  await create('events', { kind: 'topic' });
  await create('events/subscriptions/audit', {});
  await deadLetter('payments', [{ Body: 'a' }, { Body: 'b' }], 'Declined');
  await send('calm', [{ Body: 'c' }]);
  const page = await open();
  await page.getByRole('heading', { name: '4 entities, 2 dead letters' }).waitFor();
  const rows = page.locator('tbody tr:not(.gap)');
  assert.deepEqual(await rows.locator('th a').allTextContents(), [
    'payments',
    'calm',
    'events',
    'events/Subscriptions/audit',
  ]);
  assert.equal(await rows.first().getAttribute('class'), 'has-dead');
  await page.getByRole('searchbox').fill('cal');
  assert.deepEqual(await rows.locator('th a').allTextContents(), ['calm']);
});

test('as long as not all entities were read, the overview tells how many it has, and nothing of dead letters', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('', {
    prepare: (page) =>
      page.route(/\/\$entities/, async (route) => {
        if (route.request().url().includes('after=')) return await route.abort();
        const response = await route.fetch();
        const body = JSON.stringify({ ...(await response.json()), next: 'https://more.example/' });
        await route.fulfill({ response, body });
      }),
  });
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), '1 entity so far');
  await page.unroute(/\/\$entities/);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('heading', { name: '1 entity, no dead letters' }).waitFor();
});
