import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { startEngine } from '../../local/engine/engine.ts';
import { type FunctionUnderTest, startFunction } from '../costs/function-client.ts';

/** What one call of management takes. */
export interface ManagementRow {
  readonly what: string;
  readonly among: string;
  readonly read: number;
  readonly write: number;
  readonly requests: number;
  readonly ms: number;
  /** The longest time for which the process served nothing else, ms. */
  readonly blockedMs: number;
  /** What the answer says, where it counts. */
  readonly says?: string;
}

/** Queues in the namespace: the most are ten fewer than a namespace can have. */
const ENTITIES = [10, 1000, 9990] as const;
const MESSAGES = [0, 10_000, 100_000, 1_000_000] as const;
const SUBSCRIPTIONS = [10, 1000] as const;
const QUICK_MESSAGES_MAX = 100_000;
const QUICK_SUBSCRIPTIONS_MAX = 100;
const BATCH = 4500;
const BODY = 'x'.repeat(200);
const SENT_AT_ONCE = 4;
const QUEUE =
  '<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><MaxSizeInMegabytes>5120</MaxSizeInMegabytes></QueueDescription>';
const entry = (description: string) =>
  `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">${description}</content></entry>`;

/** Measures creations, lists and counts among few and many entities and messages. Takes some minutes. */
export async function measureManagement(
  kind: string | undefined,
  isQuick: boolean,
): Promise<readonly ManagementRow[]> {
  const engine = await startEngine({ kind });
  try {
    return [
      ...(await measureEntities(engine.endpoint)),
      ...(await measureSubscriptions(engine.endpoint, isQuick)),
      ...(await measureMessages(engine.endpoint, isQuick)),
    ];
  } finally {
    await engine.stop();
  }
}

async function measureEntities(endpoint: string): Promise<readonly ManagementRow[]> {
  const rows: ManagementRow[] = [];
  for (const entities of ENTITIES) {
    const among = `${entities.toLocaleString('en-US')} queues`;
    console.log(`Management among ${among}`);
    const under = await startFunction(endpoint);
    await create(under, 'q');
    const names = Array.from({ length: entities - 1 }, (_, i) => `q${String(i).padStart(4, '0')}`);
    await under.copyQueue('q', names);
    // Whatever a namespace does only once is done then.
    await create(under, 'first');
    await under.sweep();
    rows.push(await rowOf(under, 'create a queue', among, () => create(under, 'new')));
    for (const [what, path] of [
      ['list the first hundred queues', '/$Resources/Queues'],
      ['list the topics', '/$Resources/Topics'],
      ['read a queue with its counts', '/q'],
    ] as const) {
      rows.push(await rowOf(under, what, among, () => under.http.call(200, 'GET', path)));
    }
    await under.close();
  }
  return rows;
}

async function measureSubscriptions(
  endpoint: string,
  isQuick: boolean,
): Promise<readonly ManagementRow[]> {
  const rows: ManagementRow[] = [];
  for (const many of SUBSCRIPTIONS) {
    const subscriptions = isQuick ? Math.min(many, QUICK_SUBSCRIPTIONS_MAX) : many;
    const among = `${subscriptions.toLocaleString('en-US')} subscriptions`;
    console.log(`Management among ${among}`);
    const under = await startFunction(endpoint);
    await under.http.createTopic('t');
    const subscribe = (i: number) => under.http.createSubscription(`t/subscriptions/s${i}`);
    for (let i = 0; i < subscriptions; i++) await subscribe(i);
    await under.http.send('t', { body: BODY, contentType: 'text/plain' });
    const path = `t/subscriptions/s${subscriptions}`;
    const call = () => under.http.createSubscription(path);
    rows.push(await rowOf(under, 'create a subscription', among, call));
    rows.push(
      await rowOf(under, 'read a topic with its counts', among, () =>
        under.http.call(200, 'GET', '/t'),
      ),
    );
    await under.close();
  }
  return rows;
}

async function measureMessages(
  endpoint: string,
  isQuick: boolean,
): Promise<readonly ManagementRow[]> {
  const rows: ManagementRow[] = [];
  const under = await startFunction(endpoint);
  await create(under, 'q');
  let sent = 0;
  for (const messages of MESSAGES) {
    if (isQuick && messages > QUICK_MESSAGES_MAX) break;
    const among = `${messages.toLocaleString('en-US')} messages`;
    console.log(`Management among ${among}`);
    sent = await fill(under, sent, messages);
    let answer = '';
    const row = await rowOf(under, 'read a queue with its counts', among, async () => {
      answer = await under.http.call(200, 'GET', '/q');
    });
    const [, active = ''] = /ActiveMessageCount>(\d+)</.exec(answer) ?? [];
    const says = `${Number(active).toLocaleString('en-US')}${answer.includes('"estimated"') ? ', estimated' : ''}`;
    rows.push({ ...row, says });
  }
  await under.close();
  return rows;
}

async function fill(under: FunctionUnderTest, sent: number, messages: number): Promise<number> {
  let count = sent;
  while (count < messages) {
    const calls = Array.from({ length: SENT_AT_ONCE }, async () => {
      const size = Math.min(BATCH, messages - count);
      count += size;
      if (size === 0) return;
      const body = JSON.stringify(
        Array.from({ length: size }, (_, i) => ({ Body: `${BODY}${i}` })),
      );
      const contentType = 'application/vnd.microsoft.servicebus.json';
      await under.http.send('q', { body, contentType });
    });
    await Promise.all(calls);
  }
  return count;
}

async function create(under: FunctionUnderTest, name: string): Promise<void> {
  await under.http.call(201, 'PUT', `/${name}`, {
    body: entry(QUEUE),
    contentType: 'application/atom+xml',
  });
}

async function rowOf(
  under: FunctionUnderTest,
  what: string,
  among: string,
  call: () => Promise<unknown>,
): Promise<ManagementRow> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const begin = performance.now();
  const { units } = await under.taken(call);
  const ms = performance.now() - begin;
  delay.disable();
  const { read, write, requests } = units;
  return { what, among, read, write, requests, ms, blockedMs: delay.max / 1e6 };
}
