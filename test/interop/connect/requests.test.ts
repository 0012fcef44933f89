import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectInProcess, startOverHttp } from './over-http.ts';

/** How many requests the official client causes over HTTPS. */

async function connected(t: TestContext, settings?: Parameters<typeof startOverHttp>[2]) {
  const over = await startOverHttp(t, {}, settings);
  const client = connectInProcess(t, over);
  const { link, queue } = over;
  const requestsOf = async (work: () => Promise<unknown>) => {
    const before = link.requests.length;
    await work();
    return link.requests.length - before;
  };
  return { client, queue, requestsOf };
}

const COUNT = 1000;

test('messages that are sent at once share requests', async (t) => {
  const { client, queue, requestsOf } = await connected(t);
  const sender = client.createSender(queue);
  const sends = await requestsOf(() =>
    Promise.all(Array.from({ length: COUNT }, (_, i) => sender.sendMessages({ body: i }))),
  );
  assert.ok(sends / COUNT <= 0.05, `${sends} requests`);
  const receiver = client.createReceiver(queue);
  let done = 0;
  const receives = await requestsOf(async () => {
    await new Promise<void>((resolve) => {
      receiver.subscribe(
        {
          processMessage: async () => {
            done++;
            if (done === COUNT) resolve();
          },
          processError: async ({ error }) => {
            throw error;
          },
        },
        { maxConcurrentCalls: 100 },
      );
    });
    await receiver.close();
  });
  assert.ok(receives / COUNT <= 0.05, `${receives} requests`);
});

test('a group that is refused costs few requests more, and only what is wrong in it is refused', async (t) => {
  const { client, queue, requestsOf } = await connected(t);
  const sender = client.createSender(queue);
  await sender.createMessageBatch();
  const sent = (bodyOf: (i: number) => { readonly body: unknown }) =>
    Promise.allSettled(Array.from({ length: 100 }, (_, i) => sender.sendMessages(bodyOf(i))));
  let outcomes: readonly PromiseSettledResult<void>[] = [];
  const refused = () => outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []));
  // One write takes 50 different due times.
  const at = Date.now() + 3_600_000;
  const scheduled = (i: number) => ({ body: i, scheduledEnqueueTimeUtc: new Date(at + i * 1000) });
  const inTwo = await requestsOf(async () => {
    outcomes = await sent(scheduled);
  });
  assert.deepEqual(refused(), []);
  assert.ok(inTwo <= 10, `${inTwo} requests`);
  const wrong = { body: 'wrong', applicationProperties: { long: 'x'.repeat(40_000) } };
  const forOne = await requestsOf(async () => {
    outcomes = await sent((i) => (i === 70 ? wrong : { body: i }));
  });
  assert.deepEqual(refused(), [70]);
  assert.ok(forOne <= 15, `${forOne} requests`);
});

test('S12 a plain receiver peeks at all sessions of a queue, in one request', async (t) => {
  const { client, queue, requestsOf } = await connected(t, { requiresSession: true });
  const sender = client.createSender(queue);
  for (const sessionId of ['B', 'A', 'B'])
    await sender.sendMessages({ body: sessionId, sessionId });
  const receiver = client.createReceiver(queue);
  const seen: unknown[] = [];
  const requests = await requestsOf(async () => {
    seen.push(...(await receiver.peekMessages(10)).map(({ body }) => body));
  });
  assert.deepEqual(seen, ['B', 'A', 'B']);
  assert.equal(requests, 1);
});
