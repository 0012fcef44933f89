import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectInProcess, startOverHttp } from './over-http.ts';

/** The official client over HTTPS while its network is cut. */

const RETRIES = { retryOptions: { maxRetries: 10, retryDelayInMs: 10, maxRetryDelayInMs: 50 } };
/** Several times as many as one operation of the client tries. */
const LOST_REQUESTS = 30;

test('clients go on after the network was cut, and nothing that was acknowledged is lost', async (t) => {
  const over = await startOverHttp(t, {}, { lockDuration: 'PT5S' });
  const { link, queue } = over;
  const client = connectInProcess(t, over, RETRIES);
  const acknowledged = new Set<number>();
  const received = new Set<number>();
  const sender = client.createSender(queue);
  let isSending = true;
  const send = async (first: number) => {
    for (let n = first; isSending; n += 10) {
      try {
        await sender.sendMessages({ body: n });
        acknowledged.add(n);
      } catch {
        // It may be stored or not; the sender was told so.
      }
    }
  };
  const receiver = client.createReceiver(queue);
  const missing = () => [...acknowledged].filter((n) => !received.has(n));
  const subscription = receiver.subscribe(
    {
      processMessage: async ({ body }) => {
        received.add(body);
      },
      // It goes on after every error.
      processError: async () => {},
    },
    { maxConcurrentCalls: 20 },
  );
  const senders = Array.from({ length: 10 }, (_, i) => send(i));
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await new Promise((resolve) => setImmediate(resolve));
  };
  await until(() => received.size >= 50);
  await link.cut(LOST_REQUESTS);
  const before = acknowledged.size;
  await until(() => acknowledged.size >= before + 50);
  isSending = false;
  await Promise.all(senders);
  await until(() => missing().length === 0);
  await subscription.close();
  assert.ok(acknowledged.size >= 100);
});
