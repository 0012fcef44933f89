import type { Locator, Page, Route } from 'playwright-core';

/** The dead letters of the queue `q`. */
export const DEAD_LETTERS = '#/entity/q?tab=dead-letter';

/** The buttons of what can be done with messages. */
export function actions(page: Page): Locator {
  return page.getByRole('toolbar');
}

/** Begins an act, and confirms it by the button `confirm` of its dialog. */
export async function act(page: Page, name: string, confirm = name): Promise<void> {
  await actions(page).getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click();
}

/** Ticks messages by their numbers. */
export async function select(page: Page, ...numbers: readonly (number | string)[]): Promise<void> {
  for (const number of numbers) {
    await page.getByRole('checkbox', { name: `Select message ${number}`, exact: true }).check();
  }
}

/** Waits for the result of work. */
export async function done(page: Page, result: string): Promise<void> {
  await page.getByText(result, { exact: true }).waitFor();
}

/** Holds the requests whose address matches until they are let through; resolves when the page is watched. */
export async function hold(page: Page, address: RegExp): Promise<{ readonly release: () => void }> {
  let release = () => {};
  const isFree = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(address, async (route) => {
    await isFree;
    await route.continue();
  });
  return { release };
}

/** Lets the next request whose address matches through, of any method or of one, and loses its answer. */
export async function loseAnswer(page: Page, address: RegExp, method?: string): Promise<void> {
  let isLost = false;
  await page.route(address, async (route: Route) => {
    if (isLost || (method !== undefined && route.request().method() !== method)) {
      return await route.fallback();
    }
    isLost = true;
    await route.fetch();
    await route.abort();
  });
}

/** The table's rows that have something in them. */
export function rows(page: Page): Locator {
  return page.locator('tbody tr:not(.gap)');
}

/** Goes to another place of the page that is open. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page.goto(new URL(place, page.url()).href);
}

/** What has the focus. */
export function focused(page: Page): Locator {
  return page.locator(':focus');
}
