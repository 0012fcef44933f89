import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { interposingClient } from '../../support/interposing-client.ts';
import { getJson, putJson } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/** An ETag in If-Match while another process changes what it names (docs/semantics/management.md, G2). */

const TOPIC = 't';
const SUBSCRIPTION = 't/Subscriptions/s';
const RULE = `${SUBSCRIPTION}/Rules/r`;

/** What a test needs: one process that is overtaken just before its write, and another one. */
interface Race {
  readonly slow: TestBroker;
  readonly quick: TestBroker;
  /** Runs `work` just before the next write of `slow`. */
  readonly meanwhile: (work: () => Promise<void>) => void;
}

async function startRace(t: TestContext): Promise<Race> {
  const { client, beforeNextTransaction } = interposingClient();
  t.after(() => client.destroy());
  const slow = await startBroker(t, { client });
  const quick = await startBroker(t, { beside: slow });
  return { slow, quick, meanwhile: beforeNextTransaction };
}

/** A resource, and the member of its JSON that is 'old' when it is created and 'new' when it is changed. */
interface Resource {
  readonly path: string;
  readonly kind?: 'queue' | 'topic';
  readonly member: 'userMetadata' | 'sql';
}

const QUEUE: Resource = { path: 'q', kind: 'queue', member: 'userMetadata' };
const RESOURCES: readonly Resource[] = [
  QUEUE,
  { path: TOPIC, kind: 'topic', member: 'userMetadata' },
  { path: SUBSCRIPTION, member: 'userMetadata' },
  { path: RULE, member: 'sql' },
];

const bodyOf = ({ kind, member }: Resource, value: 'old' | 'new') => ({
  ...(kind && { kind }),
  [member]: `${value} = 1`,
});

const headersOf = (tag: string | undefined): Record<string, string> =>
  tag === undefined ? {} : { 'If-Match': tag };

const put = (broker: TestBroker, resource: Resource, value: 'old' | 'new', ifMatch?: string) =>
  putJson(broker, resource.path, bodyOf(resource, value), headersOf(ifMatch));

const shown = async (broker: TestBroker, { path, member }: Resource) =>
  (await getJson(broker, path))[member];

/** Creates a resource with those above it, and returns its ETag. */
async function create(broker: TestBroker, resource: Resource): Promise<string> {
  const made = RESOURCES.filter(
    ({ path }) => resource.path === path || resource.path.startsWith(`${path}/`),
  );
  let tag = '';
  for (const one of made) {
    const answer = await put(broker, one, 'old');
    expectStatus(answer, 201);
    tag = answer.headers.get('etag') ?? '';
  }
  return tag;
}

const remove = (broker: TestBroker, { path }: Resource, tag?: string) =>
  broker.request('DELETE', path, { headers: headersOf(tag) });

for (const resource of RESOURCES) {
  const { path } = resource;

  test(`G2 a DELETE with the ETag of ${path} leaves it if it is changed meanwhile`, async (t) => {
    const { slow, quick, meanwhile } = await startRace(t);
    const tag = await create(slow, resource);
    meanwhile(async () => expectStatus(await put(quick, resource, 'new', tag), 200));
    const refused = await remove(slow, resource, tag);
    expectStatus(refused, 412);
    assert.match(refused.text, /The resource was changed meanwhile/);
    assert.equal(await shown(quick, resource), 'new = 1');
  });

  test(`G2 a DELETE or a PUT with the ETag of ${path} leaves what was created in its place meanwhile`, async (t) => {
    const { slow, quick, meanwhile } = await startRace(t);
    const tag = await create(slow, resource);
    let latest = '';
    const createAnew = async () => {
      expectStatus(await remove(quick, resource), 200);
      // At the same time by the clock.
      const answer = await put(quick, resource, 'old');
      expectStatus(answer, 201);
      latest = answer.headers.get('etag') ?? '';
    };
    meanwhile(createAnew);
    expectStatus(await remove(slow, resource, tag), 412);
    meanwhile(createAnew);
    const overtaken = await put(slow, resource, 'new', latest);
    assert.ok([404, 409].includes(overtaken.status), overtaken.text);
    expectStatus(await put(slow, resource, 'new', tag), 412);
    assert.equal(await shown(quick, resource), 'old = 1');
    expectStatus(await put(slow, resource, 'new', latest), 200);
  });

  test(`G2 a DELETE with the ETag of ${path} does not find it if it is deleted meanwhile`, async (t) => {
    const { slow, quick, meanwhile } = await startRace(t);
    const tag = await create(slow, resource);
    meanwhile(async () => expectStatus(await remove(quick, resource), 200));
    expectStatus(await remove(slow, resource, tag), 404);
    expectStatus(await remove(slow, resource, tag), 404);
  });

  test(`G2 a DELETE without an ETag deletes ${path} although it is changed meanwhile`, async (t) => {
    const { slow, quick, meanwhile } = await startRace(t);
    await create(slow, resource);
    meanwhile(async () => expectStatus(await put(quick, resource, 'new', '*'), 200));
    expectStatus(await remove(slow, resource), 200);
    expectStatus(await quick.request('GET', path), 404);
  });
}

test('G2 a DELETE with an ETag deletes a queue that is purged meanwhile, since its settings are the same', async (t) => {
  const { slow, quick, meanwhile } = await startRace(t);
  const tag = await create(slow, QUEUE);
  expectStatus(await slow.send('q', 'hello'), 201);
  meanwhile(() => quick.purge('q'));
  expectStatus(await remove(slow, QUEUE, tag), 200);
  expectStatus(await slow.request('GET', 'q'), 404);
});

test('a refusal repeats only the beginning of a long If-Match', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await broker.createQueue('q'), 201);
  const tags = Array.from({ length: 500 }, (_, i) => `"${i}"`).join(',');
  const { status, text } = await broker.request('DELETE', 'q', { headers: { 'If-Match': tags } });
  assert.equal(status, 412);
  assert.match(text, /expects &apos;0&apos;|expects '0'/);
  assert.ok(text.length < 600, text);
});
