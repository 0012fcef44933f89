import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { NamespaceClient } from '../local/local-namespaces.ts';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { loseAnswer } from './page-steps.ts';

/** Sends, receives under a lock, sessions, and the clock. */

const TWO_YEARS_SECONDS = 2 * 365 * 86_400;

test('a message is sent, received under a lock, and completed', { skip: NO_BROWSER }, async (t) => {
  const { create, bodies, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=send');
  await page.getByLabel('Body', { exact: true }).fill('hello');
  await page.getByLabel('Subject').fill('greeting');
  await page.getByLabel('Properties, as JSON').fill('{"Weight":7.0}');
  await page.getByRole('button', { name: 'Send to q' }).click();
  await page.getByText('Sent: 1.').waitFor();
  const text = await (await client.request('GET', 'q/messages')).text();
  assert.match(text, /"Label":"greeting".*"Weight":7\.0/);

  await page.getByRole('link', { name: 'Receive' }).click();
  await page.getByRole('button', { name: 'Receive one' }).click();
  await page.getByText(/^Locked until/).waitFor();
  await page.getByRole('button', { name: 'Complete' }).click();
  await page.getByText('Completed message 1.').waitFor();
  assert.deepEqual(await bodies('q'), []);
});

test('a message whose answer was lost is stored once, although it is sent again', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=send');
  await loseAnswer(page, /\/q\/messages$/);
  await page.getByLabel('Body', { exact: true }).fill('once');
  const send = page.getByRole('button', { name: 'Send to q' });
  await send.click();
  await page.getByText(/The request may have taken effect/).waitFor();
  await send.click();
  await page.getByText('Sent: 1.').waitFor();
  assert.deepEqual(await bodies('q'), ['once']);
});

test('a message that is written stays when one looks elsewhere, and is stored once although its answer was lost', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=send');
  await loseAnswer(page, /\/q\/messages$/);
  const body = page.getByLabel('Body', { exact: true });
  await body.fill('once');
  const notBefore = page.getByLabel(/^Not before/);
  await notBefore.fill('2100-01-02T03:04:05');
  const send = page.getByRole('button', { name: 'Send to q' });
  await send.click();
  await page.getByText(/The request may have taken effect/).waitFor();
  await page.getByRole('link', { name: 'Receive' }).click();
  await page.getByRole('button', { name: 'Receive one' }).waitFor();
  await page.getByRole('link', { name: 'Send', exact: true }).click();
  assert.equal(await body.inputValue(), 'once');
  assert.equal(await notBefore.inputValue(), '2100-01-02T03:04:05');
  await send.click();
  await page.getByText('Sent: 1. The last one is due at 2100-01-02 03:04:05.').waitFor();
  assert.deepEqual(await bodies('q'), ['once']);
});

test('properties that are no JSON are refused with a sentence, and nothing is sent', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, bodies, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const page = await open('#/entity/q?tab=send');
  await page.getByLabel('Properties, as JSON').fill('{');
  await page.getByRole('button', { name: 'Send to q' }).click();
  await page.getByText(/The properties are not JSON/).waitFor();
  const hint = page.getByText(/The fields have characters that one does not see/);
  assert.equal(await hint.count(), 0);
  await page.getByLabel('Body', { exact: true }).fill('live\u202eevil');
  await hint.waitFor();
  assert.deepEqual(await bodies('q'), []);
});

test('a session is accepted, its state is changed, and it is given back', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('visits', { kind: 'queue', requiresSession: true });
  await send('visits', [{ Body: 'in', BrokerProperties: { SessionId: 'customer 7' } }]);
  const page = await open('#/entity/visits?tab=sessions');
  await page.getByRole('button', { name: 'customer 7' }).click();
  await page.getByRole('button', { name: 'Accept the session and receive one' }).click();
  await page.getByLabel('State of the session').fill('step 2');
  await page.getByRole('button', { name: 'Save the state' }).click();
  await page.getByRole('button', { name: 'Abandon' }).click();
  await page.getByText('Abandoned message 1.').waitFor();
  const released = page.waitForResponse((response) => response.url().includes('$release'));
  await page.getByRole('link', { name: 'Settings' }).click();
  await released;
  const accepted = await client.request(
    'POST',
    'visits/sessions/$accept?timeout=10&sessionId=customer%207',
  );
  assert.equal(accepted.status, 201, 'it was given back at once');
  const { sessionLock } = (await accepted.json()) as { readonly sessionLock: string };
  const state = await client.request(
    'GET',
    `visits/sessions/$state?sessionId=customer%207&sessionLock=${encodeURIComponent(sessionLock)}`,
  );
  assert.equal(await state.text(), 'step 2');
});

test('a state that is no text is shown, and only replaced by what somebody writes', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('visits', { kind: 'queue', requiresSession: true });
  await send('visits', [{ Body: 'in', BrokerProperties: { SessionId: 's' } }]);
  const accepted = await client.request('POST', 'visits/sessions/$accept?timeout=5&sessionId=s');
  const { sessionLock } = (await accepted.json()) as { readonly sessionLock: string };
  const query = `sessionId=s&sessionLock=${encodeURIComponent(sessionLock)}`;
  const body = Buffer.from([0xff, 0x00, 0x41]);
  const put = await client.request('PUT', `visits/sessions/$state?${query}`, { body });
  assert.equal(put.status, 200);
  assert.equal((await client.request('POST', `visits/sessions/$release?${query}`)).status, 200);
  const page = await open('#/entity/visits?tab=sessions');
  await page.getByRole('button', { name: 's', exact: true }).click();
  await page.getByRole('button', { name: 'Accept the session and receive one' }).click();
  await page.getByText(/^00000000 {2}ff 00 41/).waitFor();
  assert.equal(await page.getByLabel('Replace it by the text').inputValue(), '');
});

test('the clock of a local namespace is moved', { skip: NO_BROWSER }, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const due = new Date((await client.now()) + 30 * 60_000).toISOString();
  await send('q', [{ Body: 'later', BrokerProperties: { ScheduledEnqueueTimeUtc: due } }]);
  const page = await open('#/entity/q');
  const before = await client.now();
  await page.locator('.clock summary').click();
  await page.getByRole('button', { name: '+1 h', exact: true }).click();
  await page.getByRole('button', { name: '+1 h', exact: true, disabled: false }).waitFor();
  assert.ok((await client.now()) - before >= 3_600_000);
  assert.equal(await client.take('q'), 'later');
});

test('the clock that is shown is that of the namespace that was chosen', {
  skip: NO_BROWSER,
}, async (t) => {
  const { url, open } = await startExplorer(t);
  const other = new NamespaceClient(url, 'ahead', PUBLIC_ROOT_KEY);
  await other.advance(TWO_YEARS_SECONDS);
  const page = await open();
  const year = new Date(await other.now()).getUTCFullYear();
  const inThatYear = page.locator(`.clock time[datetime^="${year}"]`);
  await page.locator('.clock time').waitFor();
  assert.equal(await inThatYear.count(), 0);
  await page.getByRole('combobox', { name: 'Namespace' }).selectOption('ahead');
  await inThatYear.waitFor();
});
