import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { NamespaceClient } from '../../client/namespace-client.ts';
import {
  formatConnectionString,
  parseConnectionString,
} from '../../shared/auth/connection-string.ts';
import { executable } from './chromium.ts';

/** `npm run screenshots`: the pictures of the documentation, from a local server with a shop's messages. */

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const JSON_BODY = { 'Content-Type': 'application/json' };
const BATCH = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' };
const QUIET = [
  'invoices',
  'refunds',
  'returns',
  'stock/updates',
  'stock/alerts',
  'mail',
  'audit/eu',
];
const DECLINED = ['CardDeclined', 'The bank declined the card ending in 4242.'] as const;
const REASONS = [
  DECLINED,
  DECLINED,
  ['AddressUnknown', 'The post code does not exist in this country.'],
  ['MaxDeliveryCountExceeded', 'The message was delivered ten times without success.'],
] as const;

await main();

async function main(): Promise<void> {
  const server = spawn(
    process.execPath,
    ['--import', 'tsx', 'local/main.ts', 'start', '--port', '0', '--quiet'],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const [printed] = await once(server.stdout, 'data');
    const url = String(printed).trim();
    await fill(url);
    await takePictures(url);
  } finally {
    server.kill('SIGTERM');
    await once(server, 'close');
  }
}

async function fill(url: string): Promise<void> {
  const { host } = new URL(url);
  const key = { keyName: 'RootManageSharedAccessKey', key: 'SAS_KEY_VALUE' };
  const text = formatConnectionString({ host, ...key, isLocal: true });
  const client = new NamespaceClient(parseConnectionString(text));
  const put = (path: string, json: object) =>
    client.call({ method: 'PUT', path, headers: JSON_BODY, body: JSON.stringify(json) });
  const send = (path: string, messages: readonly object[]) =>
    client.call({
      method: 'POST',
      path: `${path}/messages`,
      headers: BATCH,
      body: JSON.stringify(messages),
    });
  for (const queue of ['orders', 'payments', ...QUIET]) await put(queue, { kind: 'queue' });
  await put('shipments', { kind: 'topic' });
  for (const name of ['billing', 'warehouse']) await put(`shipments/subscriptions/${name}`, {});
  await send(
    'payments',
    Array.from({ length: 42 }, (_, i) => payment(i)),
  );
  const head = { method: 'POST', path: 'payments/messages/head' } as const;
  const locked = JSON.parse(
    (await client.call({ ...head, query: { timeout: 5, maxMessages: 23 } })).text,
  ) as { readonly BrokerProperties: { readonly LockToken: string } }[];
  const settlements = locked.map(({ BrokerProperties: { LockToken: lockToken } }, i) => {
    const [deadLetterReason, deadLetterErrorDescription] = REASONS[i % REASONS.length] ?? DECLINED;
    return { lockToken, outcome: 'deadLetter', deadLetterReason, deadLetterErrorDescription };
  });
  const body = JSON.stringify({ settlements });
  await client.call({
    method: 'POST',
    path: 'payments/messages/$settle',
    headers: JSON_BODY,
    body,
  });
  await send(
    'orders',
    Array.from({ length: 7 }, (_, i) => payment(100 + i)),
  );
  const ScheduledEnqueueTimeUtc = new Date(Date.now() + 3_600_000).toISOString();
  await send('mail', [{ Body: 'Good morning', BrokerProperties: { ScheduledEnqueueTimeUtc } }]);
  await send('shipments', [payment(200), payment(201)]);
}

function payment(i: number): object {
  return {
    Body: JSON.stringify({
      order: 10_000 + i,
      amount: 19.9 + i,
      card: 'visa',
      customer: { id: 700 + i },
    }),
    BrokerProperties: { MessageId: `pay-${i}`, Label: 'payment', ContentType: 'application/json' },
    UserProperties: { Tier: i % 3 === 0 ? 'gold' : 'silver', Attempt: 1 + (i % 4) },
  };
}

async function takePictures(url: string): Promise<void> {
  const browser = await chromium.launch({
    ...(executable() === undefined ? {} : { executablePath: String(executable()) }),
    args: ['--no-sandbox'],
  });
  try {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport: { width: 1180, height: 640 },
        colorScheme,
        timezoneId: 'UTC',
      });
      const page = await context.newPage();
      const suffix = colorScheme === 'dark' ? '-dark' : '';
      await page.goto(`${url}/`);
      await page.getByRole('link', { name: 'payments' }).waitFor();
      await save(page, `explorer-overview${suffix}`);
      await page.getByRole('link', { name: 'payments' }).click();
      await page.getByRole('button', { name: '3', exact: true }).click();
      await page.getByRole('checkbox', { name: 'Select message 3', exact: true }).check();
      await save(page, `explorer-dead-letters${suffix}`);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

async function save(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${IMAGES}${name}.png` });
}
