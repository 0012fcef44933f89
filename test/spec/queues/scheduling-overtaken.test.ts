import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';

/** A process that reads the due time late must not miss messages that were scheduled since that read. */

const SCHEDULED = {
  Body: 'm',
  BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-01-01T00:01:00Z' },
};

test('a message that is scheduled while a receive reads the next due time is delivered when it is due', async (t) => {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await broker.createQueue('q');
  const pause = pauses.pauseNextAnswer(
    ({ command, collection }) => command === 'GetItemCommand' && collection.endsWith('.0'),
  );
  const early = broker.peekLock('q');
  await pause.reached;
  await broker.schedule('q', [SCHEDULED]);
  pause.goOn();
  assert.equal(await early, undefined);
  broker.clock.advance({ minutes: 1 });
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});

/** Starts a receive that activates a message, and pauses it before it assigns the new sequence number. */
async function startActivation(t: TestContext) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await broker.createQueue('q');
  await broker.schedule('q', [
    { Body: 'first', BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-01-01T00:00:30Z' } },
  ]);
  broker.clock.advance({ seconds: 30 });
  const taking = pauses.pauseNext(isHeaderUpdate);
  const receive = broker.peekLock('q');
  await taking.reached;
  return { broker, pauses, receive, taking };
}

function isHeaderUpdate({ command, collection }: Outgoing): boolean {
  return command === 'UpdateItemCommand' && collection.endsWith('.0');
}

test('a message that is scheduled while others are activated is delivered when it is due', async (t) => {
  const { broker, pauses, receive, taking } = await startActivation(t);
  // This update of the partition header records that no other message is due.
  const raising = pauses.pauseNextAnswer(isHeaderUpdate);
  taking.goOn();
  await raising.reached;
  await broker.schedule('q', [SCHEDULED]);
  raising.goOn();
  assert.equal((await receive)?.body, 'first');
  broker.clock.advance({ seconds: 30 });
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});

test('a message that is scheduled after a purge is delivered when it is due, even if an activation from before the purge still runs', async (t) => {
  const { broker, receive, taking } = await startActivation(t);
  await broker.purge('q');
  await broker.schedule('q', [SCHEDULED]);
  taking.goOn();
  await receive;
  broker.clock.advance({ seconds: 30 });
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});
