import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLocalNamespaces } from '../local/local-namespaces.ts';
import { openPage } from './browser.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';

/** What the page shows to whom. */

const KEY = Buffer.alloc(32, 'k').toString('base64');
/** Not the public one, with which the page connects by itself. */
const rootKey = Buffer.alloc(32, 'r').toString('base64');

test('with Listen only, the messages of a queue are shown, and nothing that needs Manage', {
  skip: NO_BROWSER,
}, async (t) => {
  const local = await startLocalNamespaces({ t, rootKey });
  const client = local.of();
  const headers = { 'Content-Type': 'application/json' };
  const rule = { keyName: 'app', accessRights: ['Listen'], primaryKey: KEY };
  const body = JSON.stringify({ kind: 'queue', authorizationRules: [rule] });
  await client.request('DELETE', 'listened');
  assert.equal((await client.request('PUT', 'listened', { headers, body })).status, 201);
  await client.send('listened', 'hello');
  const page = await openPage(t, `${local.url}/`);
  const entity = `${client.connectionString('app', KEY)}EntityPath=listened`;
  await page.getByLabel('Connection string').fill(entity);
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('hello').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0);
  const toolbar = page.getByRole('toolbar');
  assert.equal(await toolbar.getByRole('button', { name: 'Purge…' }).count(), 0);
  assert.equal(await toolbar.getByRole('button', { name: 'Delete' }).count(), 1);
  await page.goto(`${local.url}/#/`);
  await page.getByLabel(/Open one by its path/).waitFor();
  const kept = await page.evaluate(
    'JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])',
  );
  assert.ok(!String(kept).includes(KEY), 'the key is kept nowhere but in the memory of the page');
});

test('a wrong key is refused with the sentence of the service', { skip: NO_BROWSER }, async (t) => {
  const local = await startLocalNamespaces({ t, rootKey });
  const page = await openPage(t, `${local.url}/`);
  await page
    .getByLabel('Connection string')
    .fill(local.of().connectionString(undefined, 'd3Jvbmc='));
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText(/InvalidSignature.* Check the name and the key of the rule\./).waitFor();
  // One corrects it there.
  await page.getByLabel('Connection string').fill(local.of().connectionString());
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('Allow changes').waitFor();
});

test('a read-only page offers no change', { skip: NO_BROWSER }, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await deadLetter('q', [{ Body: 'a' }], 'Declined');
  const page = await open('#/entity/q?tab=dead-letter');
  await page.getByRole('checkbox', { name: 'Allow changes' }).uncheck();
  const buttons = page.getByRole('toolbar').getByRole('button');
  await buttons.first().waitFor();
  assert.deepEqual(await buttons.allTextContents(), ['Download', 'Export all']);
  for (const [tab, what] of [
    ['Receive', 'receive'],
    ['Send', 'send'],
  ] as const) {
    await page.getByRole('link', { name: tab, exact: true }).click();
    await page.getByText(`switch “Allow changes” on to ${what} messages`).waitFor();
    assert.equal(await page.locator('main button').count(), 0);
  }
});

test('a deployed namespace has a banner, and its page begins read-only', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open, client } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open();
  await page.route('**/about.json', (route) =>
    route.fulfill({ json: { place: 'deployed', access: 'sas' } }),
  );
  await page.reload();
  await page.getByLabel('Connection string').fill(client.connectionString());
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('not a local namespace').waitFor();
  const allow = page.getByRole('checkbox', { name: 'Allow changes' });
  assert.equal(await allow.isChecked(), false);
  assert.equal(await page.getByRole('button', { name: 'Create…' }).count(), 0);
  await allow.check();
  await page.getByRole('button', { name: 'Create…' }).waitFor();
});

test('a page under IAM leads to the command that signs', { skip: NO_BROWSER }, async (t) => {
  const { open } = await startExplorer(t);
  const page = await open();
  await page.route('**/about.json', (route) =>
    route.fulfill({ json: { place: 'deployed', access: 'iam' } }),
  );
  await page.reload();
  await page.getByText(`npx dynabus explorer --to https://${new URL(page.url()).host}`).waitFor();
  assert.equal(await page.getByLabel('Connection string').count(), 0);
});

test('each namespace of a local server can be looked at', { skip: NO_BROWSER }, async (t) => {
  const { open, url } = await startExplorer(t);
  const other = await startOther(url);
  const page = await open();
  await page.getByRole('combobox', { name: 'Namespace' }).selectOption(other);
  await page.getByRole('link', { name: 'only-here' }).waitFor();
});

async function startOther(url: string): Promise<string> {
  const { NamespaceClient } = await import('../local/local-namespaces.ts');
  const other = new NamespaceClient(url, 'other', 'SAS_KEY_VALUE');
  await other.request('DELETE', 'only-here');
  await other.createQueue('only-here');
  return 'other';
}
