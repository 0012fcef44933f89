import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isoInstant } from '../spec/queues/queue.ts';
import { type Outgoing, type PauseClient, startPauses } from '../support/pause-client.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { createTopic, drainBodies } from '../support/topic-entities.ts';

/** Two processes use one queue at the same time. The test can pause database requests of the slow one. */

interface Fixture {
  readonly slow: TestBroker;
  readonly fast: TestBroker;
  /** Pauses database requests of the slow process. */
  readonly pauses: PauseClient;
}

async function start(t: TestContext): Promise<Fixture> {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const fast = await startBroker(t);
  expectStatus(await fast.createQueue('q'), 201);
  return { slow: await startBroker(t, { beside: fast, client: pauses.client }), fast, pauses };
}

const isTransaction = ({ command }: Outgoing) => command === 'TransactWriteItemsCommand';
const isOfHead = ({ collection }: Outgoing) => /\.0$/.test(collection);
const isOfMessages = ({ collection }: Outgoing) => /\.0m0$/.test(collection);

for (const mode of ['peekLock', 'receiveAndDelete'] as const) {
  test(`${mode} that loses a message to another process gets another message of the same block`, async (t) => {
    const { slow, fast, pauses } = await start(t);
    expectStatus(await fast.sendBatch('q', [{ Body: '1' }, { Body: '2' }, { Body: '3' }]), 201);
    const claim = pauses.pauseNext((r) => r.command === 'UpdateItemCommand' && isOfMessages(r));
    const receiving = slow[mode]('q');
    await claim.reached;
    assert.equal((await fast.peekLock('q'))?.body, '1');
    claim.goOn();
    assert.match((await receiving)?.body ?? 'nothing', /^[23]$/);
    // The refused write returns the present content of the block, so the receive does not read it again.
    const queries = pauses.requests.filter((r) => r.command === 'QueryCommand' && isOfMessages(r));
    assert.equal(queries.length, 1);
  });
}

test('a message that is scheduled while another process raises the next due time becomes due in time', async (t) => {
  const { slow, fast, pauses } = await start(t);
  const at = (body: string, seconds: number) => ({
    Body: body,
    BrokerProperties: { ScheduledEnqueueTimeUtc: isoInstant({ seconds }) },
  });
  await slow.schedule('q', [at('first', 60)]);
  await slow.schedule('q', [at('last', 3600)]);
  slow.clock.advance({ seconds: 60 });
  // The activation takes sequence numbers from the head, and then raises the next due time there.
  let writes = 0;
  const raise = pauses.pauseNext(
    (r) => r.command === 'UpdateItemCommand' && isOfHead(r) && ++writes === 2,
  );
  const receiving = slow.receiveAndDelete('q');
  await raise.reached;
  await fast.schedule('q', [at('between', 120)]);
  raise.goOn();
  assert.equal((await receiving)?.body, 'first');
  slow.clock.advance({ seconds: 60 });
  assert.deepEqual(await drainBodies(slow, 'q'), ['between']);
  slow.clock.advance({ hours: 1 });
  assert.deepEqual(await drainBodies(fast, 'q'), ['last']);
});

test('L15 a purge of a queue that another process has deleted is refused, though this process remembers the queue', async (t) => {
  const { slow, fast, pauses } = await start(t);
  expectStatus(await fast.send('q', 'a'), 201);
  const deletion = pauses.pauseNextAnswer(isTransaction);
  const deleting = slow.request('DELETE', 'q');
  await deletion.reached;
  expectStatus(await fast.request('GET', 'q'), 404);
  expectStatus(await fast.request('POST', 'q/messages/$purge'), 410);
  deletion.goOn();
  expectStatus(await deleting, 200);
});

test('L15 a purge of a queue that other processes have replaced by a topic is refused', async (t) => {
  const { slow, fast, pauses } = await start(t);
  expectStatus(await fast.send('q', 'a'), 201);
  const deletion = pauses.pauseNextAnswer(isTransaction);
  const deleting = slow.request('DELETE', 'q');
  await deletion.reached;
  await createTopic(await startBroker(t, { beside: slow }), 'q');
  const answer = await fast.request('POST', 'q/messages/$purge');
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, /InvalidOperation/);
  deletion.goOn();
  expectStatus(await deleting, 200);
});

test('a peek whose message is taken before it is loaded shows the next one, not an end', async (t) => {
  const { slow, fast, pauses } = await start(t);
  const LARGE = randomBytes(30_000).toString('hex');
  for (const body of ['1', '2', '3']) expectStatus(await fast.send('q', body + LARGE), 201);
  await slow.peek('q', { max: 1 });
  const loading = pauses.pauseNext(({ command }) => command === 'BatchGetItemCommand');
  const peeking = slow.peek('q', { max: 1 });
  await Promise.race([loading.reached, peeking]);
  assert.ok(await fast.receiveAndDelete('q'));
  await fast.idle();
  loading.goOn();
  assert.deepEqual(
    (await peeking).map(({ body }) => body?.slice(0, 1)),
    ['2'],
  );
});
