import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../support/json-management.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';

/** Entities, their settings and rules. */

test('a queue is created, changed and deleted', { skip: NO_BROWSER }, async (t) => {
  const { client, open } = await startExplorer(t);
  const settings = async () => {
    const headers = { Accept: 'application/json' };
    return (await (await client.request('GET', 'orders', { headers })).json()) as Json;
  };
  const page = await open();
  await page.getByRole('button', { name: 'Create…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('orders');
  await dialog.getByText('Settings').click();
  await dialog.getByLabel('Maximum delivery count').fill('3');
  await dialog.getByLabel('Requires sessions').check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Settings' }).click();
  const before = await settings();
  assert.deepEqual([before['maxDeliveryCount'], before['requiresSession']], [3, true]);

  await page.getByLabel('Maximum delivery count').fill('7');
  await page.getByLabel('Lock duration').fill('PT30S');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const after = await settings();
  assert.deepEqual([after['maxDeliveryCount'], after['lockDuration']], [7, 'PT30S']);

  await page.getByRole('button', { name: 'Delete orders…' }).click();
  await dialog.getByRole('textbox').fill('orders');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: /no dead letters/ }).waitFor();
  assert.equal((await client.request('GET', 'orders')).status, 404);
});

test('a rule is tried on a message before it is added', { skip: NO_BROWSER }, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', {});
  const page = await open('#/entity/t%2FSubscriptions%2Fs?tab=rules');
  await page.getByRole('button', { name: 'Delete rule $Default' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Without a rule, the subscription gets no messages.').waitFor();
  await page.getByRole('button', { name: 'Add a rule…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('large');
  const sql = dialog.getByLabel(/Condition in SQL/);
  const tried = dialog.getByRole('status');
  await sql.fill('Quantity >');
  await tried.getByText(/not valid/).waitFor();
  await sql.fill('Quantity > 200');
  await tried.getByText('The rule does not match the message.').waitFor();
  await sql.fill('Quantity > 100');
  await dialog.getByLabel(/Action/).fill("SET Size = 'L'");
  await tried.getByText('The rule matches. Its copy differs in: Size').waitFor();
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('heading', { name: 'large' }).waitFor();
  const { rules } = (await (
    await client.request('GET', 't/subscriptions/s/rules', {
      headers: { Accept: 'application/json' },
    })
  ).json()) as { readonly rules: readonly Json[] };
  assert.equal(rules[0]?.['sql'], 'Quantity > 100');
});
