import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { goTo, hold } from './page-steps.ts';

/** What becomes of a message that the page has locked. */

const RECEIVE = '#/entity/q?tab=receive';
/** Longer than the lock of a message. */
const LOCK_SECONDS = 90;

test('a message that is locked when somebody goes elsewhere is given back', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  const page = await open(RECEIVE);
  await receiveOne(page);
  assert.equal(await client.lock('q'), undefined, 'it is locked');
  await leaving(page, /\$settle/);
  assert.equal(await client.lock('q'), 2, 'the count of its next delivery');
});

test('a message that comes after somebody went elsewhere is given back', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  const page = await open(RECEIVE);
  const request = page.waitForRequest(/\/messages\/head/);
  const heads = await hold(page, /\/messages\/head/);
  await page.getByRole('button', { name: 'Receive one' }).click();
  await request;
  const settled = page.waitForResponse(/\$settle/);
  await goTo(page, '#/entity/q?tab=settings');
  await page.getByLabel('Lock duration').waitFor();
  heads.release();
  await settled;
  assert.equal(await client.lock('q'), 2, 'the count of its next delivery');
});

test('a message whose settlement is on its way when somebody goes elsewhere is not given back', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  const page = await open(RECEIVE);
  await receiveOne(page);
  const settlements: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('$settle')) settlements.push(request.postData() ?? '');
  });
  const held = await hold(page, /\$settle/);
  await page.getByRole('button', { name: 'Complete' }).click();
  await goTo(page, '#/entity/q?tab=settings');
  await page.getByLabel('Lock duration').waitFor();
  const settled = page.waitForResponse(/\$settle/);
  held.release();
  await settled;
  await page.getByRole('link', { name: 'Receive' }).click();
  await page.getByRole('button', { name: 'Receive one' }).waitFor();
  assert.deepEqual(await bodies('q'), []);
  assert.deepEqual(
    settlements.map((text) => JSON.parse(text).settlements[0].outcome),
    ['complete'],
  );
});

test('a message is dead-lettered with the reason that somebody writes', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  const page = await open(RECEIVE);
  await receiveOne(page);
  await page.getByRole('button', { name: 'Dead-letter…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('Manual');
  await dialog.getByLabel('Description').fill('The customer has called.');
  await dialog.getByRole('button', { name: 'Dead-letter' }).click();
  await page.getByText('Dead-lettered message 1.').waitFor();
  const response = await client.request('GET', 'q/$deadletterqueue/messages');
  const [{ UserProperties } = { UserProperties: {} }] = (await response.json()) as {
    readonly UserProperties: object;
  }[];
  assert.deepEqual(UserProperties, {
    DeadLetterReason: 'Manual',
    DeadLetterErrorDescription: 'The customer has called.',
  });
});

test('a settlement whose lock has ended says so, and the message can be received again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a' }]);
  const page = await open(RECEIVE);
  await receiveOne(page);
  const again = page.getByRole('button', { name: 'Receive one' });
  assert.equal(await again.isDisabled(), true, 'one after the other');
  await client.advance(LOCK_SECONDS);
  await page.getByRole('button', { name: 'Complete' }).click();
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /lock .*(?:expired|lost|ended)/i);
  assert.deepEqual(await bodies('q'), ['a']);
  await again.click();
  await alert.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Complete' }).click();
  await page.getByText('Completed message 1.').waitFor();
  assert.deepEqual(await bodies('q'), []);
});

test('a session that was accepted after somebody went elsewhere is given back', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('visits', { kind: 'queue', requiresSession: true });
  await send('visits', [{ Body: 'in', BrokerProperties: { SessionId: 's' } }]);
  const page = await open('#/entity/visits?tab=sessions');
  await page.getByRole('button', { name: 's', exact: true }).click();
  const request = page.waitForRequest(/\$accept/);
  const accepts = await hold(page, /\$accept/);
  await page.getByRole('button', { name: 'Accept the session and receive one' }).click();
  await request;
  const released = page.waitForResponse(/\$release/);
  await goTo(page, '#/entity/visits?tab=settings');
  await page.getByLabel('Lock duration').waitFor();
  accepts.release();
  await released;
  const path = 'visits/sessions/$accept?timeout=0&sessionId=s';
  assert.equal((await client.request('POST', path)).status, 201);
});

async function receiveOne(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Receive one' }).click();
  await page.getByText(/^Locked until/).waitFor();
}

/** Goes to another tab, and waits for what the page says to the service on leaving. */
async function leaving(page: Page, said: RegExp): Promise<void> {
  const response = page.waitForResponse(said);
  await page.getByRole('link', { name: 'Settings' }).click();
  await response;
}
