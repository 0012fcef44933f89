import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { token } from '../../support/atom-client.ts';
import { copyEntity } from '../../support/copied-entities.ts';
import { getJson, type Json, putJson, sentenceOf } from '../../support/json-management.ts';
import { engineClient, startBroker, TABLES } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createSubscriptions, createTopic, eachOf } from '../../support/topic-entities.ts';

/** All entities of a namespace at once (docs/semantics/management.md, G28). */

interface Page {
  readonly entities: readonly (Json & {
    readonly name: string;
    readonly rules?: readonly { readonly name: string }[];
  })[];
  readonly next?: string;
}

const read = async (broker: TestBroker, url = '$entities') =>
  (await getJson(broker, url)) as unknown as Page;
const namesOf = ({ entities }: Page) => entities.map(({ name }) => name);

/** All pages from a URL on; each has no more than `most` entities. */
async function pagesFrom(broker: TestBroker, url: string, most = 100): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for (let next: string | undefined = url; next !== undefined; next = pages.at(-1)?.next) {
    const page = await read(broker, next);
    assert.ok(page.entities.length > 0 && page.entities.length <= most);
    pages.push(page);
  }
  return pages;
}

/** Queues with names in front of, between and behind topics, of which the second has many subscriptions. */
async function startFull(
  t: TestContext,
  { queues, subscriptions }: { readonly queues: number; readonly subscriptions: number },
) {
  const broker = await startBroker(t);
  const client = engineClient();
  t.after(() => client.destroy());
  expectStatus(await broker.createQueue('m'), 201);
  const many = Array.from({ length: queues }, (_, i) => `n${String(i).padStart(4, '0')}`);
  await copyEntity(client, broker.namespace, 'm', many, TABLES);
  for (const name of ['a', 'n0002-topic', 'z']) await createTopic(broker, name);
  const children = Array.from(
    { length: subscriptions },
    (_, i) => `n0002-topic/Subscriptions/s${String(i).padStart(3, '0')}`,
  );
  await createSubscriptions(broker, children);
  await createSubscriptions(broker, ['z/Subscriptions/Last']);
  const at = many.indexOf('n0002') + 1;
  const all = [
    'a',
    'm',
    ...many.slice(0, at),
    'n0002-topic',
    ...children,
    ...many.slice(at),
    'z',
    'z/Subscriptions/Last',
  ];
  return { broker, all };
}

test('a namespace of hundreds of entities is read page by page, in order, each entity once', async (t) => {
  const { broker, all } = await startFull(t, { queues: 300, subscriptions: 120 });
  const whole = await pagesFrom(broker, '$entities');
  assert.deepEqual(whole.flatMap(namesOf), all);
  assert.equal(whole.length, Math.ceil(all.length / 100));
  const small = await pagesFrom(broker, '$Entities/?$top=7', 7);
  assert.deepEqual(small.flatMap(namesOf), all);
  assert.deepEqual(namesOf(await read(broker, '$entities?$top=1000')), all.slice(0, 100));
});

test('entities in which nothing was stored are listed a thousand a page, at no more units than a hundred', async (t) => {
  const { broker, all } = await startFull(t, { queues: 1100, subscriptions: 0 });
  const costs: number[] = [];
  const lengths: number[][] = [];
  for (const top of [100, 1000, 2000]) {
    let pages: readonly Page[] = [];
    const { read: units, write } = await broker.units(async () => {
      pages = await pagesFrom(broker, `$entities?$top=${top}`, 1000);
    });
    assert.equal(write, 0);
    assert.deepEqual(pages.flatMap(namesOf), all);
    costs.push(units);
    lengths.push(pages.map(({ entities }) => entities.length));
  }
  assert.deepEqual(lengths.slice(1), [
    [1000, all.length - 1000],
    [1000, all.length - 1000],
  ]);
  const [hundreds = 0, thousand = 0] = costs;
  t.diagnostic(`${all.length} entities: ${hundreds} and ${thousand} read units`);
  assert.ok(thousand <= hundreds, costs.join(', '));
});

test('a page ends early where many entities have messages to count, and leaves none out', async (t) => {
  const { broker, all } = await startFull(t, { queues: 320, subscriptions: 0 });
  const used = all.filter((name) => /^n00[1-6]\d$/.test(name));
  await eachOf(used, async (name) => expectStatus(await broker.send(name, 'x'), 201));
  const pages = await pagesFrom(broker, '$entities?$top=1000', 1000);
  assert.deepEqual(pages.flatMap(namesOf), all);
  assert.deepEqual(
    pages.map(({ entities }) => entities.length),
    [100, all.length - 100],
  );
  const counted = pages
    .flatMap(({ entities }) => entities)
    .filter((one) => one['activeMessageCount'] === 1);
  assert.deepEqual(
    counted.map(({ name }) => name),
    used,
  );
});

test('a page has the settings, counts and rules that the single calls return', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S' }), 201);
  await createTopic(broker, 't');
  const rule = { name: 'first', sql: { expression: 'x = @p', parameters: { p: 7 } } };
  expectStatus(await putJson(broker, 't/Subscriptions/S', { defaultRule: rule }), 201);
  broker.clock.advance({ seconds: 1 });
  for (const name of ['c', 'a', 'b']) {
    expectStatus(await putJson(broker, `t/Subscriptions/S/Rules/${name}`, { sql: 'y = 1' }), 201);
    broker.clock.advance({ seconds: 1 });
  }
  expectStatus(await putJson(broker, 't/Subscriptions/none', {}), 201);
  expectStatus(await broker.request('DELETE', 't/Subscriptions/none/Rules/$Default'), 200);
  expectStatus(await broker.send('q', 'hello'), 201);
  const { entities, next } = await read(broker);
  assert.equal(next, undefined);
  const single: unknown[] = [];
  for (const path of ['q', 't', 't/Subscriptions/none', 't/Subscriptions/S']) {
    const { rules } = path.includes('/') ? await getJson(broker, `${path}/Rules`) : {};
    single.push({ ...(await getJson(broker, path)), ...(path.includes('/') && { rules }) });
  }
  assert.deepEqual(entities, single);
  assert.equal(entities[0]?.['activeMessageCount'], 1);
  const names = entities[3]?.rules?.map(({ name }) => name);
  assert.deepEqual(names, ['first', 'c', 'a', 'b']);
});

test('many rules are read too, and a subscription with more than a hundred names the list of all', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't');
  await createSubscriptions(broker, ['t/Subscriptions/few', 't/Subscriptions/many']);
  await eachOf(
    Array.from({ length: 110 }, (_, i) => `t/Subscriptions/many/Rules/r${i}`),
    async (path) => expectStatus(await putJson(broker, path, { sql: 'x = 1' }), 201),
  );
  const [, few, many] = (await read(broker)).entities;
  assert.equal(few?.rules?.length, 1);
  assert.equal(few?.['moreRules'], undefined);
  assert.equal(many?.rules?.length, 100);
  const { rules } = await getJson(broker, String(many?.['moreRules']));
  assert.equal((rules as unknown[]).length, 100);
});

test('an entity that is deleted or created between two pages moves no other one', async (t) => {
  const { broker, all } = await startFull(t, { queues: 20, subscriptions: 10 });
  for (let at = 1; at < all.length; at += 3) {
    const first = await read(broker, `$entities?$top=${at}`);
    assert.deepEqual(namesOf(first), all.slice(0, at));
    const last = all[at - 1] ?? '';
    const isTopic = first.entities.at(-1)?.['kind'] === 'topic';
    // Topics would be deleted with the subscriptions that follow.
    if (!isTopic) expectStatus(await broker.request('DELETE', last), 200);
    expectStatus(await broker.createQueue('0'), 201);
    const rest = await pagesFrom(broker, first.next ?? '');
    assert.deepEqual(rest.flatMap(namesOf), all.slice(at));
    expectStatus(await broker.request('DELETE', '0'), 200);
    if (!isTopic) all.splice(at - 1, 1);
  }
});

test('a page goes on behind a topic that was deleted with its subscriptions', async (t) => {
  const { broker, all } = await startFull(t, { queues: 4, subscriptions: 5 });
  const inside = all.indexOf('n0002-topic/Subscriptions/s002');
  const { next = '' } = await read(broker, `$entities?$top=${inside + 1}`);
  expectStatus(await broker.request('DELETE', 'n0002-topic'), 200);
  const after = all.slice(all.indexOf('n0003'));
  assert.deepEqual(namesOf(await read(broker, next)), after);
  // A later topic of the same name is another one, whose subscriptions follow too.
  await createTopic(broker, 'n0002-topic');
  await createSubscriptions(broker, [
    'n0002-topic/Subscriptions/s001',
    'n0002-topic/Subscriptions/s009',
  ]);
  assert.deepEqual(namesOf(await read(broker, next)), ['n0002-topic/Subscriptions/s009', ...after]);
});

test('a later page costs as much as an early one, and as much in a larger namespace', async (t) => {
  const costs: string[] = [];
  for (const queues of [240, 480]) {
    const { broker } = await startFull(t, { queues, subscriptions: 0 });
    for (const after of ['n0010', 'n0100', `n0${queues - 101}`]) {
      const {
        read: units,
        write,
        requests,
      } = await broker.units(async () => {
        assert.equal(
          (await read(broker, `$entities?after=${after}&$top=100`)).entities.length,
          100,
        );
      });
      costs.push(`${units} read units, ${write} write units, ${requests} requests`);
    }
  }
  t.diagnostic(costs[0] ?? '');
  assert.equal(new Set(costs).size, 1, costs.join('; '));
});

test('the rules of a topic are read with one query, or, if there are many, with one for each subscription', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker, 't');
  const paths = Array.from({ length: 20 }, (_, i) => `t/Subscriptions/s${i}`);
  await createSubscriptions(broker, paths);
  const few = await broker.units(() => read(broker));
  await eachOf(
    paths.flatMap((path) => [0, 1, 2, 3].map((i) => `${path}/Rules/r${i}`)),
    async (path) => expectStatus(await putJson(broker, path, { sql: 'x = 1' }), 201),
  );
  const many = await broker.units(() => read(broker));
  t.diagnostic(JSON.stringify({ few, many }));
  assert.equal(many.requests - few.requests, paths.length);
});

test('it needs Manage on the namespace, and refuses parameters that it does not have', async (t) => {
  const broker = await startBroker(t);
  const key = 'K'.repeat(44);
  const rule = { keyName: 'k', accessRights: ['Manage', 'Send', 'Listen'], primaryKey: key };
  expectStatus(await putJson(broker, 'q', { kind: 'queue', authorizationRules: [rule] }), 201);
  for (const authorization of [null, token('', { keyName: 'k', key })]) {
    const answer = await broker.request('GET', '$entities', { authorization });
    expectStatus(answer, 401);
    assert.match(sentenceOf(answer), /^401\d\d: /);
  }
  for (const query of ['$skip=1', '$top=x', 'after=', 'after=q/$deadletterqueue', 'after=a%20b']) {
    const answer = await broker.request('GET', `$entities?${query}`, {
      headers: { Accept: 'application/xml' },
    });
    assert.equal(answer.status, 400, query);
    sentenceOf(answer);
  }
  const deleted = await broker.request('DELETE', '$entities');
  expectStatus(deleted, 405);
});

test('an empty namespace has no entities', async (t) => {
  assert.deepEqual(await getJson(await startBroker(t), '$entities'), { entities: [] });
});
