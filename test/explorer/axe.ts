import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** Evaluated by the debugger, since the page runs no script but its own. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 700 };

/** Fails if what the page shows now has a fault of accessibility: light or dark, wide or as narrow as a phone. */
export async function requireAccessible(page: Page, what: string): Promise<void> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const require = async (options: string, how: string) =>
    assert.deepEqual(await violations(page, options), [], `${what}, ${how}`);
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: 'dark' });
  // Dark and light differ in their colours only.
  await require("{ runOnly: ['color-contrast'] }", 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await require('{}', 'light');
  await page.setViewportSize(NARROW);
  await require('{}', 'narrow');
  await requireNoOverflow(page, what);
  await page.setViewportSize(WIDE);
}

/** Fails if one would have to scroll the page sideways. */
export async function requireNoOverflow(page: Page, what: string): Promise<void> {
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  assert.ok(Number(overflow) <= 0, `${what}: ${overflow} px too wide`);
}

async function violations(page: Page, options: string): Promise<unknown> {
  return await page.evaluate(`axe.run(document, ${options}).then(({ violations }) =>
    violations.map(({ id, nodes }) =>
      [id, ...nodes.map(({ html, failureSummary }) => html + failureSummary)].join('\\n')))`);
}
