import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { executable } from '../../test/explorer/chromium.ts';
import { type BenchClient, prepareSend } from '../http-client.ts';
import { type ServerOptions, startServerProcess } from '../server-process.ts';

/** What somebody who looks at a large namespace waits for, ms, and what the page holds, bytes. */
export interface ExplorerResult {
  readonly entities: number;
  readonly messages: number;
  /** From the call of the address to the first rows, and to all entities with their counts. */
  readonly firstRowsMs: number;
  readonly allEntitiesMs: number;
  /** The same, when the list reads itself again. */
  readonly againMs: number;
  /** Requests until then. */
  readonly requests: number;
  /** From the click on a queue to its first messages, and from a number in its middle to those from there on. */
  readonly firstMessagesMs: number;
  readonly middleMessagesMs: number;
  /** From the end of one page of messages to the next one, on average. */
  readonly nextMessagesMs: number;
  /** From the first message to as many as the page keeps. */
  readonly mostMessagesMs: number;
  readonly heapBytes: { readonly overview: number; readonly messages: number };
}

const SIZES = {
  full: { entities: 10_000, messages: 1_000_000 },
  quick: { entities: 500, messages: 20_000 },
} as const;
const AT_ONCE = 16;
const PROGRESS_LINES = 10;
const BATCH = 500;
const BODY_BYTES = 200;
/** Pages of messages to which the benchmark scrolls, and how many are in one. */
const SCROLLED_PAGES = 10;
const PAGE_MESSAGES = 100;
const PATIENCE_MS = 120_000;

/** Fills a local namespace, and looks at it in a browser. */
export async function measureExplorer(
  server: ServerOptions,
  isQuick: boolean,
): Promise<ExplorerResult> {
  const sizes = SIZES[isQuick ? 'quick' : 'full'];
  const { stop, port, connect } = await startServerProcess(server);
  const client = connect(AT_ONCE);
  const browser = await chromium.launch({
    executablePath: String(executable()),
    args: ['--no-sandbox'],
  });
  try {
    await fill(client, sizes);
    return { ...sizes, ...(await look(browser, `http://localhost:${port}/`, sizes)) };
  } finally {
    await browser.close();
    client.close();
    await stop();
  }
}

interface Sizes {
  readonly entities: number;
  readonly messages: number;
}

async function fill(client: BenchClient, { entities, messages }: Sizes) {
  console.log(`Creating ${entities} queues`);
  await inTurns(entities - 1, (i) => client.createQueue(`team-${i % 40}/queue-${i}`, undefined));
  await client.createQueueWith('large', '<MaxSizeInMegabytes>5120</MaxSizeInMegabytes>');
  console.log(`Sending ${messages} messages`);
  const bodies = Array.from({ length: BATCH }, (_, i) =>
    Buffer.from(`${i} `.padEnd(BODY_BYTES, 'x')),
  );
  const batch = prepareSend(bodies, true);
  await inTurns(messages / BATCH, () => client.send('large', batch));
}

async function inTurns(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      if (next % Math.ceil(count / PROGRESS_LINES) === 0)
        console.log(`  ${next} of ${count} requests`);
      await work(next++);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function look(browser: Browser, url: string, sizes: Sizes) {
  const { entities } = sizes;
  // Where the server runs from source, the page is built when it is asked for first.
  await (await fetch(new URL('$explorer', url))).arrayBuffer();
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const devTools = await page.context().newCDPSession(page);
  let requests = 0;
  page.on('request', () => requests++);
  const opened = timer();
  await page.goto(url);
  await page.locator('tbody th a').first().waitFor();
  const firstRowsMs = opened();
  await allShown(page, entities);
  const allEntitiesMs = opened();
  const overviewRequests = requests;
  const again = timer();
  await page.getByRole('button', { name: 'Refresh' }).click();
  const reading = page.getByRole('button', { name: 'Reading…' });
  await reading.waitFor();
  await reading.waitFor({ state: 'hidden' });
  const againMs = again();
  const overview = await heapOf(devTools);
  const read = await lookAtMessages(page, sizes.messages / 2);
  return {
    ...{ firstRowsMs, allEntitiesMs, requests: overviewRequests, againMs },
    ...read,
    heapBytes: { overview, messages: await heapOf(devTools) },
  };
}

/** Opens the large queue, goes to a number in its middle, scrolls, and reads as much as the page keeps. */
async function lookAtMessages(page: Page, middle: number) {
  await page.getByRole('searchbox').fill('large');
  const clicked = timer();
  await page.getByRole('link', { name: 'large' }).click();
  await page.locator('tbody .excerpt').first().waitFor();
  const firstMessagesMs = clicked();
  await page.getByLabel('From sequence number').fill(String(middle));
  const searched = timer();
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('button', { name: String(middle), exact: true }).waitFor();
  const middleMessagesMs = searched();
  const scrolled = timer();
  for (let pages = 1; pages <= SCROLLED_PAGES; pages++) {
    await shownMessages(page, pages * PAGE_MESSAGES);
    await page.evaluate("document.querySelector('.scroller').scrollTo(0, 1e9)");
  }
  await shownMessages(page, (SCROLLED_PAGES + 1) * PAGE_MESSAGES);
  const nextMessagesMs = scrolled() / SCROLLED_PAGES;
  const read = timer();
  await page.getByRole('button', { name: /whole queue/ }).click();
  await page.getByText(/5,000 messages shown/).waitFor();
  return { firstMessagesMs, middleMessagesMs, nextMessagesMs, mostMessagesMs: read() };
}

async function shownMessages(page: Page, count: number): Promise<void> {
  const number = count.toLocaleString('en-US');
  await page.getByText(`${number} messages shown`).waitFor();
}

/** All entities are there, and all were read. */
async function allShown(page: Page, entities: number): Promise<void> {
  const name = `${entities.toLocaleString('en-US')} entities`;
  await page.getByRole('heading', { name }).waitFor();
  await page.getByText(/Updated .* ago/).waitFor();
}

function timer(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

/** What the script of the page holds after a garbage collection. */
async function heapOf(devTools: CDPSession): Promise<number> {
  await devTools.send('HeapProfiler.collectGarbage');
  return (await devTools.send('Runtime.getHeapUsage')).usedSize;
}
