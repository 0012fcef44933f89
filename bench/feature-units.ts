import { randomBytes } from 'node:crypto';
import type { CountingNamespace, OperationCost } from './counted-units.ts';
import type { BenchClient } from './http-client.ts';
import { type Cells, short, table } from './markdown.ts';

/** The cost of one call of a feature that writes several items under a condition. */
export interface FeatureRow {
  readonly what: string;
  readonly cost: OperationCost;
}

const JSON_TYPE = 'application/json';
const BATCH_TYPE = 'application/vnd.microsoft.servicebus.json';

/** Counts single calls of sessions, duplicate detection and transactions. */
export async function countFeatures(counting: CountingNamespace): Promise<readonly FeatureRow[]> {
  counting.setAddedLatency('single');
  return [
    ...(await countSessions(counting)),
    ...(await countDuplicates(counting)),
    ...(await countTransactions(counting)),
  ];
}

type Call = Parameters<BenchClient['call']>;

async function rowsOf(
  { counted, http }: CountingNamespace,
  calls: readonly (readonly [what: string, ...call: Call])[],
): Promise<readonly FeatureRow[]> {
  const rows: FeatureRow[] = [];
  for (const [what, ...call] of calls) {
    rows.push({ what, cost: (await counted(() => http.call(...call))).cost });
  }
  return rows;
}

function batchOf(count: number, of: (index: number) => object): string {
  const messages = Array.from({ length: count }, (_, i) => ({
    Body: `message ${i}`,
    BrokerProperties: of(i),
  }));
  return JSON.stringify(messages);
}

async function create(http: BenchClient, settings: string): Promise<string> {
  const queue = `q-${randomBytes(6).toString('hex')}`;
  await http.createQueueWith(queue, settings);
  return queue;
}

async function countSessions(counting: CountingNamespace): Promise<readonly FeatureRow[]> {
  const { http, counted } = counting;
  const queue = await create(http, '<RequiresSession>true</RequiresSession>');
  const send = (count: number): Call => [
    201,
    'POST',
    `/${queue}/messages`,
    { body: batchOf(count, () => ({ SessionId: 'a' })), contentType: BATCH_TYPE },
  ];
  await http.call(204, 'POST', `/${queue}/sessions/$accept?timeout=0`);
  const sent = await rowsOf(counting, [['send a message to a session that waits', ...send(1)]]);
  const accepted = await counted(() =>
    http.call(201, 'POST', `/${queue}/sessions/$accept?timeout=0`),
  );
  const { sessionLock } = JSON.parse(accepted.answer) as { sessionLock: string };
  const held = `sessionId=a&sessionLock=${sessionLock}`;
  const more = await rowsOf(counting, [['send to one that somebody holds', ...send(1)]]);
  const received = await counted(() =>
    http.call(201, 'POST', `/${queue}/messages/head?timeout=0&maxMessages=10&${held}`),
  );
  const messages = JSON.parse(received.answer) as { BrokerProperties: { LockToken: string } }[];
  const settlements = messages.map(({ BrokerProperties: { LockToken } }) => ({
    lockToken: LockToken,
    outcome: 'complete',
  }));
  return [
    ...sent,
    { what: 'accept the next session', cost: accepted.cost },
    ...more,
    { what: 'receive both messages', cost: received.cost },
    ...(await rowsOf(counting, [
      [
        'complete them',
        200,
        'POST',
        `/${queue}/messages/$settle?sessionId=a`,
        { body: JSON.stringify({ settlements }), contentType: JSON_TYPE },
      ],
      ['renew the lock', 200, 'POST', `/${queue}/sessions/$renew?${held}`],
      [
        'set a small state',
        200,
        'PUT',
        `/${queue}/sessions/$state?${held}`,
        { body: '{"step":2}', contentType: JSON_TYPE },
      ],
      ['give the session back', 200, 'POST', `/${queue}/sessions/$release?${held}`],
    ])),
    ...(await countServing(counting)),
  ];
}

/** How many clients serve sessions together, and how many sessions each of them. */
const SERVING = { clients: 8, rounds: 4 } as const;

/** Counts what it takes to serve a session with one message, by one client and by several. */
async function countServing(counting: CountingNamespace): Promise<readonly FeatureRow[]> {
  const { http, counted } = counting;
  const queue = await create(http, '<RequiresSession>true</RequiresSession>');
  const serve = async (times: number) => {
    for (let i = 0; i < times; i++) await serveSession(http, queue);
  };
  const send = (count: number, prefix: string) =>
    http.call(201, 'POST', `/${queue}/messages`, {
      body: batchOf(count, (i) => ({ SessionId: `${prefix}${i}` })),
      contentType: BATCH_TYPE,
    });
  await http.call(204, 'POST', `/${queue}/sessions/$accept?timeout=0`);
  await send(1, 'alone');
  const alone = await counted(() => serve(1));
  const { clients, rounds } = SERVING;
  await send(clients * rounds, 'together');
  // Calls share requests in the rhythm of the engine itself.
  counting.setAddedLatency('none');
  const together = await counted(() =>
    Promise.all(Array.from({ length: clients }, () => serve(rounds))),
  );
  counting.setAddedLatency('single');
  const { cost } = together;
  const sessions = clients * rounds;
  const perSession = {
    ...cost,
    write: cost.write / sessions,
    read: cost.read / sessions,
    requests: cost.requests / sessions,
  };
  return [
    { what: 'accept, receive, complete and give back a session', cost: alone.cost },
    { what: `the same by ${clients} clients at once, for each session`, cost: perSession },
  ];
}

/** Accepts the next session, receives and completes its message, and gives it back. */
async function serveSession(http: BenchClient, queue: string): Promise<void> {
  const lock = await http.call(201, 'POST', `/${queue}/sessions/$accept?timeout=0`);
  const { sessionId, sessionLock } = JSON.parse(lock) as {
    readonly sessionId: string;
    readonly sessionLock: string;
  };
  const held = `sessionId=${sessionId}&sessionLock=${sessionLock}`;
  const got = await http.call(
    201,
    'POST',
    `/${queue}/messages/head?timeout=0&maxMessages=1&${held}`,
  );
  const [message] = JSON.parse(got) as { BrokerProperties: { LockToken: string } }[];
  const lockToken = message?.BrokerProperties.LockToken;
  await http.call(200, 'POST', `/${queue}/messages/$settle?sessionId=${sessionId}`, {
    body: JSON.stringify({ settlements: [{ lockToken, outcome: 'complete' }] }),
    contentType: JSON_TYPE,
  });
  await http.call(200, 'POST', `/${queue}/sessions/$release?${held}`);
}

async function countDuplicates(counting: CountingNamespace): Promise<readonly FeatureRow[]> {
  const { http } = counting;
  const setting = '<RequiresDuplicateDetection>true</RequiresDuplicateDetection>';
  const queue = await create(http, setting);
  const send = (prefix: string, count: number): Call => [
    201,
    'POST',
    `/${queue}/messages`,
    { body: batchOf(count, (i) => ({ MessageId: `${prefix}${i}` })), contentType: BATCH_TYPE },
  ];
  await http.call(...send('first', 1));
  return await rowsOf(counting, [
    ['send a message where duplicates are detected', ...send('one', 1)],
    ['send it again', ...send('one', 1)],
    ['send a batch of 100', ...send('many', 100)],
    ['send it again', ...send('many', 100)],
  ]);
}

async function countTransactions(counting: CountingNamespace): Promise<readonly FeatureRow[]> {
  const { http } = counting;
  const queue = await create(http, '');
  const rows: FeatureRow[] = [];
  for (const [what, id] of [
    ['transaction: complete one, send two', {}],
    ['the same with an id', { id: 'bench' }],
  ] as const) {
    await http.call(201, 'POST', `/${queue}/messages`, {
      body: batchOf(2, () => ({})),
      contentType: BATCH_TYPE,
    });
    const { locks } = await http.receive(queue, 1);
    const [lock] = locks;
    const lockToken =
      lock !== undefined && 'token' in lock ? lock.token : lock?.address.split('/').at(-1);
    const operations = [
      { complete: queue, lockToken },
      { send: queue, messages: [{ Body: '1' }, { Body: '2' }] },
    ];
    rows.push(
      ...(await rowsOf(counting, [
        [
          what,
          200,
          'POST',
          '/$transactions',
          { body: JSON.stringify({ ...id, operations }), contentType: JSON_TYPE },
        ],
      ])),
    );
  }
  return rows;
}

const TITLES = ['call', 'write units', 'read units', 'requests', 'round trips'];

/** The section on these features, as Markdown. */
export function printFeatures(rows: readonly FeatureRow[]): string {
  return `## What sessions, duplicates and transactions cost

Units of single calls, small messages.

${table(
  TITLES,
  rows.map(
    ({ what, cost }): Cells => [
      ...[what, short(cost.write), short(cost.read), short(cost.requests), cost.roundTrips],
    ],
  ),
)}
`;
}
