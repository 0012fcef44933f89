import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_BROWSER } from './chromium.ts';
import { startExplorer } from './fixture.ts';
import { act, done, select } from './page-steps.ts';

/** What is shown of one message, and how one takes it away. */

const GUID = '5f2f6a1c-9d0e-4c47-8a2b-7f1c3e5d9b60';
/** The next number above 2 ** 53, which JavaScript's numbers lack. */
const LARGE = '9007199254740993';

test('details show bodies as what they are, and properties with their types', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x41]).toString('base64');
  const body = `[
    {"Body":"${bytes}","BodyEncoding":"base64"},
    {"Body":"{\\"id\\":${LARGE},\\"list\\":[1]}","UserProperties":{
      "Weight":7.0,"Count":7,"Big":{"$long":"7"},"Id":{"$guid":"${GUID}"},"Tier":"gold","Paid":true}}
  ]`;
  const headers = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' };
  assert.equal((await client.request('POST', 'q/messages', { headers, body })).status, 201);
  const page = await open('#/entity/q');
  await page.getByRole('cell', { name: 'bytes ff fe 00 41' }).click();
  const first = page.getByRole('complementary', { name: 'Message 1' });
  await first.getByRole('heading', { name: 'Body hex, 4 B' }).waitFor();
  assert.match(
    (await first.locator('pre.body').textContent()) ?? '',
    /^0{8} {2}ff fe 00 41 +···A$/,
  );
  await page.getByRole('button', { name: '2', exact: true }).click();
  const second = page.getByRole('complementary', { name: 'Message 2' });
  await second.getByRole('heading', { name: /^Body json/ }).waitFor();
  assert.equal(
    await second.locator('pre.body').textContent(),
    `{\n  "id": ${LARGE},\n  "list": [\n    1\n  ]\n}`,
  );
  const own = second.locator('section', {
    has: page.getByRole('heading', { name: 'Properties', exact: true }),
  });
  const shown = await own.locator('dl > div').allTextContents();
  assert.deepEqual(shown.toSorted(), [
    'Big long7',
    'Count int7',
    `Id guid${GUID}`,
    'Paid booleantrue',
    'Tier stringgold',
    'Weight double7.0',
  ]);
});

test('a property of a user is shown as it is, although it is named like an instant of the system', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'a', UserProperties: { AmountUtc: '12' } }]);
  const page = await open('#/entity/q');
  await page.getByRole('button', { name: '1', exact: true }).click();
  const own = page.locator('dl > div', { hasText: 'AmountUtc' });
  assert.equal(await own.textContent(), 'AmountUtc string12');
  const enqueued = page.locator('dl > div', { hasText: 'EnqueuedTime ' });
  assert.equal(await enqueued.locator('time').count(), 1);
});

test('a message that has expired and is not removed yet says so', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, send, client, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'short', BrokerProperties: { TimeToLive: 60 } }, { Body: 'long' }]);
  await client.advance(120);
  const page = await open('#/entity/q');
  await page.getByRole('row', { name: /expired short/ }).waitFor();
  assert.equal(await page.getByText('expired').count(), 1);
  await page.getByRole('button', { name: '2', exact: true }).click();
  const timeToLive = page.locator('dl > div', { hasText: 'TimeToLive' });
  assert.match(String(await timeToLive.textContent()), /unlimited$/);
});

test('a number above 2^53 is shown and used exactly', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [{ Body: 'far' }]);
  // As if the queue had got so many messages.
  const page = await open('', {
    prepare: (page) =>
      page.route(/\/q\/messages\?/, async (route) => {
        const response = await route.fetch();
        const text = await response.text();
        const body = text.replace('"SequenceNumber":1', `"SequenceNumber":${LARGE}`);
        await route.fulfill({ response, body });
      }),
  });
  await page.getByRole('link', { name: 'q', exact: true }).click();
  await page.getByRole('button', { name: LARGE, exact: true }).click();
  await page.getByRole('heading', { name: `Message ${LARGE}` }).waitFor();
  await select(page, LARGE);
  const request = page.waitForRequest((one) => one.url().includes('$delete'));
  await act(page, 'Delete');
  assert.match((await request).postData() ?? '', new RegExp(`[\\["]${LARGE}[\\]"]`));
  await done(page, 'Deleted 0 of 1 from q.');
});

test('chosen messages are downloaded with all they have', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  await send('q', [
    { Body: 'one', BrokerProperties: { Label: 'first' }, UserProperties: { Tier: 'gold' } },
    { Body: 'two' },
    { Body: 'three' },
  ]);
  const page = await open('#/entity/q');
  await select(page, 1, 3);
  const download = page.waitForEvent('download');
  await act(page, 'Download');
  assert.match((await download).suggestedFilename(), /^q-active-.+\.jsonl$/);
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\n');
  const saved = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    saved.map(({ Body, BrokerProperties, UserProperties = {} }) => [
      Body,
      BrokerProperties.SequenceNumber,
      BrokerProperties.Label,
      UserProperties.Tier,
    ]),
    [
      ['one', 1, 'first', 'gold'],
      ['three', 3, undefined, undefined],
    ],
  );
});

test('a body is copied as it came', { skip: NO_BROWSER }, async (t) => {
  const { create, send, open } = await startExplorer(t);
  await create('q', { kind: 'queue' });
  const body = '{"a":1,  "text":"a\u202eb"}';
  await send('q', [{ Body: body }]);
  const page = await open('#/entity/q', {
    prepare: (page) => page.context().grantPermissions(['clipboard-read', 'clipboard-write']),
  });
  await page.getByRole('button', { name: '1', exact: true }).click();
  await page.getByRole('button', { name: 'Copy body' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), body);
});

test('the begin of many bytes is shown in hex, then more, and the page says where all of them are', {
  skip: NO_BROWSER,
}, async (t) => {
  const { create, client, open } = await startExplorer(t, { tier: 'Premium' });
  await create('q', { kind: 'queue' });
  const body = Buffer.alloc(400_000, 0xff);
  assert.equal((await client.request('POST', 'q/messages', { body })).status, 201);
  const page = await open('#/entity/q');
  await page.getByRole('button', { name: '1', exact: true }).click();
  const shown = page.locator('pre.body');
  await shown.getByText(/^0{8} {2}ff/).waitFor();
  await page.getByRole('button', { name: 'Show all of it' }).click();
  await page.getByText('“Download” of a list of messages saves all of it.').waitFor();
  assert.match((await shown.textContent()) ?? '', /\n0003fff0 {2}[^\n]+$/);
  assert.equal(await page.getByRole('button', { name: 'Show all of it' }).count(), 0);
});
