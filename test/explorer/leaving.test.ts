import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { NamespaceClient } from '../local/local-namespaces.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, done, hold, select } from './page-steps.ts';

/** Messages that can be sent again are only in the page: nothing throws them away without a question. */

test('deleted messages can be sent again after other work, and the page asks before it loses them', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, bodies, url, open } = await startExplorer(t);
  const other = new NamespaceClient(url, 'elsewhere', PUBLIC_ROOT_KEY);
  assert.equal((await other.request('GET', 'nothing')).status, 404);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'kept' }, { Body: 'gone' }]);
  const page = await open('#/entity/q');
  await select(page, 2);
  await act(page, 'Delete');
  await done(page, 'Deleted 1 of 1 from q.');
  await act(page, 'Export all', 'Export');
  await done(page, 'Exported 1 of 1 from q.');

  const dialog = page.getByRole('dialog', { name: 'Leave this namespace' });
  await page.getByRole('button', { name: 'Disconnect' }).click();
  await dialog.getByText('“Send them again”').waitFor();
  await dialog.getByRole('button', { name: 'Stay' }).click();
  const choice = page.getByRole('combobox', { name: 'Namespace' });
  const before = await choice.inputValue();
  await choice.selectOption('elsewhere');
  await dialog.getByRole('button', { name: 'Stay' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await choice.inputValue(), before);

  const close = page.getByRole('region', { name: 'Work' }).getByRole('button', { name: 'Close' });
  await close.click();
  await done(page, 'Deleted 1 of 1 from q.');
  await page.getByRole('button', { name: 'Send them again' }).click();
  await done(page, 'Sent again 1 of 1 to q.');
  assert.deepEqual(await bodies('q'), ['kept', 'gone']);
  await choice.selectOption('elsewhere');
  await page.getByText('This namespace has no queues and topics yet.').waitFor();
  assert.equal(await choice.inputValue(), 'elsewhere');
});

test('while work runs, the page asks before it leaves', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'gone' }]);
  const page = await open('#/entity/q');
  const { release } = await hold(page, /\$delete/);
  await select(page, 1);
  await act(page, 'Delete');
  await page.getByRole('button', { name: 'Disconnect' }).click();
  const dialog = page.getByRole('dialog', { name: 'Leave this namespace' });
  await dialog.getByText('Work is going on.').waitFor();
  release();
  await dialog.getByText('“Send them again”').waitFor();
  await dialog.getByRole('button', { name: 'Leave and lose what is offered' }).click();
  await page.getByLabel('Connection string').waitFor();
});
