import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { executable } from './chromium.ts';

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());

/** How a page is shown. */
export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  /** Where the browser is, such as `Asia/Kolkata`; the machine's by default. */
  readonly timezoneId?: string;
  /** What is done before the page is loaded, such as to hold its clock or to answer in place of the server. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/**
 * Opens an address in a window of its own. The test fails if the page breaks its content security policy, or throws.
 */
export async function openPage(
  t: TestContext,
  url: string,
  { width = 1280, height = 800, colorScheme = 'light', timezoneId, prepare }: PageOptions = {},
): Promise<Page> {
  const path = executable();
  assert.ok(path !== undefined);
  launched ??= chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  const context = await (await launched).newContext({
    viewport: { width, height },
    colorScheme,
    ...(timezoneId === undefined ? {} : { timezoneId }),
    acceptDownloads: true,
  });
  const faults: string[] = [];
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // The browser reports every refusal of the service, too, and that the server of the test has ended.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) faults.push(message.text());
  });
  t.after(async () => {
    // A request may still be on its way through a test.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    assert.deepEqual(faults, [], 'the page has errors');
  });
  await prepare?.(page);
  await page.goto(url);
  return page;
}
