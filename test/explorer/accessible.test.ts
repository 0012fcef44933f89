import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { requireAccessible } from './axe.ts';
import { NO_BROWSER } from './chromium.ts';
import { type ExplorerFixture, startExplorer } from './fixture.ts';
import { actions, DEAD_LETTERS, hold, select } from './page-steps.ts';

/** The page for everybody: with a screen reader, in the dark, on a phone. */

/** What the page shows, and how one gets there. */
interface State {
  readonly what: string;
  readonly place: string;
  readonly reach: (page: Page) => Promise<unknown>;
}

const RULES = '#/entity/t%2FSubscriptions%2Fs?tab=rules';

const PLACES: readonly State[] = (
  [
    ['#/', 'visits'],
    [DEAD_LETTERS, 'Declined 2'],
    ['#/entity/q?tab=scheduled', 'Nothing is scheduled'],
    ['#/entity/q?tab=settings', 'Lock duration'],
    ['#/entity/q?tab=send', 'Properties, as JSON'],
    ['#/entity/q?tab=consumers', 'No consumer'],
    ['#/entity/t', 't/Subscriptions/s'],
    [RULES, '$Default'],
  ] as const
).map(([place, text]) => ({
  what: place,
  place,
  reach: (page) => page.getByText(text).first().waitFor(),
}));

const DIALOGS: readonly State[] = [
  { what: 'purge', place: DEAD_LETTERS, reach: (page) => pressed(page, 'Purge…') },
  { what: 'resubmit', place: DEAD_LETTERS, reach: (page) => pressed(page, 'Resubmit', 1) },
  { what: 'edit', place: DEAD_LETTERS, reach: (page) => pressed(page, 'Edit and resubmit', 1) },
  { what: 'dead-letter', place: '#/entity/q', reach: (page) => pressed(page, 'Dead-letter', 1) },
  { what: 'delete', place: '#/entity/q', reach: (page) => pressed(page, 'Delete', 1) },
  { what: 'rule', place: RULES, reach: (page) => clicked(page, 'Add a rule…') },
  {
    what: 'create',
    place: '#/',
    reach: async (page) => {
      await clicked(page, 'Create…');
      await page.getByRole('dialog').getByText('Settings').click();
    },
  },
  {
    what: 'delete an entity',
    place: '#/entity/q?tab=settings',
    reach: (page) => clicked(page, 'Delete q…'),
  },
];

const OPENED: readonly State[] = [
  {
    what: 'details of a message',
    place: DEAD_LETTERS,
    reach: async (page) => {
      await page.getByRole('button', { name: '1', exact: true }).click();
      await page.getByRole('complementary').waitFor();
    },
  },
  {
    what: 'a received message',
    place: '#/entity/q?tab=receive',
    reach: async (page) => {
      await clicked(page, 'Receive one');
      await page.getByText(/^Locked until/).waitFor();
    },
  },
  {
    what: 'a session',
    place: '#/entity/visits?tab=sessions',
    reach: async (page) => {
      await clicked(page, 'customer 7');
      await clicked(page, 'Accept the session and receive one');
      await page.getByLabel('State of the session').waitFor();
      await page.getByText(/^Locked until/).waitFor();
    },
  },
  {
    what: 'the menus of a narrow page',
    place: DEAD_LETTERS,
    reach: async (page) => {
      await page.setViewportSize({ width: 360, height: 700 });
      await clicked(page, 'Menu');
      await clicked(page, 'Filter');
      await page.getByLabel('From sequence number').waitFor();
      await page.locator('.clock summary').click();
      await page.getByRole('button', { name: '+1 day', exact: true }).waitFor();
    },
  },
];

for (const [what, states] of [
  ['place', PLACES],
  ['dialog', DIALOGS],
  ['opened part', OPENED],
] as const) {
  test(`no ${what} of the page has a fault of accessibility`, { skip: NO_BROWSER }, async (t) => {
    const explorer = await startExplorer(t);
    await fill(explorer);
    const page = await explorer.open();
    for (const { what, place, reach } of states) {
      // Whatever is open is closed there.
      await page.goto(new URL('#/', page.url()).href);
      await page.getByRole('heading', { level: 1, name: /entities/ }).waitFor();
      await page.goto(new URL(place, page.url()).href);
      await reach(page);
      await requireAccessible(page, what);
    }
  });
}

test('the line of work that runs, and of work that has left something, has no fault of accessibility', {
  skip: NO_BROWSER,
}, async (t) => {
  const explorer = await startExplorer(t);
  await fill(explorer);
  const page = await explorer.open(DEAD_LETTERS);
  await select(page, 1, 2);
  const resubmit = await hold(page, /\$resubmit/);
  await actions(page).getByRole('button', { name: 'Resubmit', exact: true }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('visits');
  await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click();
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
  await requireAccessible(page, 'work that runs');
  resubmit.release();
  await page.getByText('1 not done').click();
  await page.getByText(/message 2: /).waitFor();
  await requireAccessible(page, 'work that has left something');
});

test('neither the form that asks for a connection string nor a deployed namespace has a fault of accessibility', {
  skip: NO_BROWSER,
}, async (t) => {
  const explorer = await startExplorer(t);
  await fill(explorer);
  const page = await explorer.open('', {
    prepare: (page) =>
      page.route('**/about.json', (route) =>
        route.fulfill({ json: { place: 'deployed', access: 'sas' } }),
      ),
  });
  await page.getByLabel('Connection string').fill('Endpoint=sb://elsewhere/');
  await clicked(page, 'Connect');
  await page.getByRole('alert').waitFor();
  await requireAccessible(page, 'the form');
  await page.getByLabel('Connection string').fill(explorer.client.connectionString());
  await clicked(page, 'Connect');
  await page.getByText('not a local namespace').waitFor();
  await page.getByRole('link', { name: 'visits' }).waitFor();
  await requireAccessible(page, 'a deployed namespace');
});

/** Something of everything. */
async function fill({ create, send, deadLetter }: ExplorerFixture): Promise<void> {
  await create('q', { kind: 'queue' });
  await create('t', { kind: 'topic' });
  await create('t/subscriptions/s', {});
  await create('visits', { kind: 'queue', requiresSession: true });
  const session = { BrokerProperties: { SessionId: 'customer 7' } };
  await deadLetter('q', [{ Body: '{"a":1}', ...session }, { Body: 'b' }], 'Declined');
  await send('q', [{ Body: 'alive' }]);
  await send('visits', [{ Body: 'in', ...session }]);
}

async function clicked(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
}

/** Presses a button of what can be done with messages, of which the first ones are ticked. */
async function pressed(page: Page, name: string, count = 0): Promise<void> {
  const ticks = page.locator('tbody input[type=checkbox]');
  for (let i = 0; i < count; i++) await ticks.nth(i).check();
  await actions(page).getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').waitFor();
}
