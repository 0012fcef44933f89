import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';

/** What is large is read and drawn as far as somebody looks. */

/** More rows than are seen at a time, and far fewer than there are. */
const DRAWN_MAX = 100;
const MESSAGES = 3_000;
const BATCH = 500;
const ENTITIES = 350;
/** The messages that a list keeps. */
const KEPT = 5_000;

test('of a long queue, the page reads and draws as far as somebody scrolls', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  for (let sent = 0; sent < MESSAGES; sent += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => ({ Body: `body ${sent + i + 1}` }));
    await send('q', batch);
  }
  const page = await open();
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/q/messages') asked.push(searchParams.get('fromSequenceNumber') ?? 'start');
  });
  await page.getByRole('link', { name: 'q', exact: true }).click();
  await page.getByText('100 messages shown.').waitFor();
  assert.equal(asked.length, 1);
  assert.ok((await page.locator('tbody tr').count()) <= DRAWN_MAX);
  await page.evaluate("document.querySelector('.scroller').scrollTo(0, 1e9)");
  await page.getByText('200 messages shown.').waitFor();
  assert.equal(asked.length, 2);
  assert.ok((await page.locator('tbody tr').count()) <= DRAWN_MAX);

  await page.getByLabel('From sequence number').fill('2950');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('51 messages shown. This is the end of the queue.').waitFor();
  await page.getByText('body 2950').waitFor();
  await page.getByLabel('From sequence number').fill('3001');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('No message has the number 3001 or a higher one.').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByText('100 messages shown.').waitFor();
  assert.equal(await page.getByLabel('From sequence number').inputValue(), '');
});

test('a full list of sessions names no number to go on from, because numbers begin again with each session', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('s', { kind: 'queue', requiresSession: true });
  const ofSession = (SessionId: string, count: number) =>
    Array.from({ length: count }, () => ({ Body: SessionId, BrokerProperties: { SessionId } }));
  await send('s', ofSession('z', 1));
  for (let sent = 0; sent < KEPT; sent += BATCH) await send('s', ofSession('a', BATCH));
  const page = await open('#/entity/s?tab=active');
  await page.getByRole('button', { name: 'Search the whole queue' }).click();
  const end = page.getByText(/The page keeps no more: further ones may follow, .* of others/);
  await end.waitFor();
  assert.doesNotMatch((await end.textContent()) ?? '', /number/);
  await page.getByLabel('Text', { exact: true }).fill('z');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('button', { name: 'Search further' }).click();
  await page.getByText('1 message shown of 5,001 that were looked at.').waitFor();
});

test('of many entities, those that are seen are drawn, and each is found by a part of its name', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, open } = await startExplorer(t);
  for (let i = 0; i < ENTITIES; i++) await create(`queue-${i}`, { kind: 'queue' });
  const page = await open();
  await page.getByRole('heading', { name: `${ENTITIES} entities, no dead letters` }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) <= DRAWN_MAX);
  await page.getByRole('searchbox').fill('queue-349');
  await page.getByRole('link', { name: 'queue-349' }).waitFor();
});
