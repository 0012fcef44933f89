import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { rows } from './page-steps.ts';

/** Links and names whose address would be that of something else, since URL parsers remove `..` and what is before. */

test('a link that names one entity and leads to another one opens none', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, deadLetter, open } = await startExplorer(t);
  await create('orders', { kind: 'queue' });
  await deadLetter('orders', [{ Body: 'secret' }], 'Declined');
  for (const path of ['innocent%2F..%2Forders', 'innocent%2F%2e%2e%2Forders', '.%2Forders']) {
    const page = await open(`#/entity/${path}?tab=dead-letter`);
    await page.getByRole('heading', { name: '1 entity, 1 dead letter' }).waitFor();
    assert.equal(await page.getByRole('toolbar').count(), 0, path);
    assert.deepEqual(await rows(page).locator('th a').allTextContents(), ['orders']);
  }
});

test('a link to what is no entity shows none, and asks for nothing of another one', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  for (const name of ['undefined', 'q']) {
    await create(name, { kind: 'queue' });
    await send(name, [{ Body: 'precious' }]);
  }
  await create('news', { kind: 'topic' });
  for (const path of ['$clock', '$entities', 'q/messages', 'q/consumers', 'news/subscriptions']) {
    const asked: string[] = [];
    const page = await open(`#/entity/${encodeURIComponent(path)}`, {
      prepare: async (page) => {
        page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      },
    });
    await page.getByRole('alert').getByText(`There is no entity '${path}'.`).waitFor();
    assert.equal(await page.getByRole('navigation').getByRole('link').count(), 0, path);
    assert.deepEqual(
      asked.filter((one) => /undefined|^\/q\/messages./.test(one)),
      [],
      path,
    );
  }
});

test('a link shows the direction of its text as it is', { skip: NO_BROWSER }, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open(`#/entity/${encodeURIComponent('q\u202eelif')}`);
  await page.getByRole('heading', { name: 'All entities / q⟨U+202E⟩elif' }).waitFor();
  await page.getByRole('alert').getByText('⟨U+202E⟩elif').waitFor();
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /\u202e/);
});

test('a rule and an entity get no name that leads elsewhere', { skip: NO_BROWSER }, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', {});
  const page = await open('#/entity/t%2FSubscriptions%2Fs?tab=rules');
  const changes: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') changes.push(request.url());
  });
  await page.getByRole('button', { name: 'Add a rule…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('x/../$Default');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').getByText("'x/../$Default' is no name here").waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('link', { name: 'All entities' }).click();
  await page.getByRole('button', { name: 'Create…' }).click();
  await dialog.getByLabel('Name').fill('t/../new');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('alert').getByText("'t/../new' is no path of an entity").waitFor();
  await dialog.getByLabel('Kind').selectOption('subscription');
  await dialog.getByLabel('Topic', { exact: true }).fill('t');
  await dialog.getByLabel('Name').fill('s/Rules/r');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByRole('alert').getByText("'s/Rules/r' is no name here").waitFor();
  assert.deepEqual(changes, []);
  assert.equal((await client.request('GET', 'new')).status, 404);
});

test('where entities are opened by their paths, one that leads elsewhere is refused', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  await create('orders', { kind: 'queue' });
  const page = await open('', {
    prepare: (page) => page.route(/\$entities/, (route) => route.fulfill({ status: 401 })),
  });
  const path = page.getByLabel(/Open one by its path/);
  await path.fill('innocent/../orders');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText("'innocent/../orders' is no path of an entity").waitFor();
  await path.fill('orders');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'All entities / orders' }).waitFor();
});
