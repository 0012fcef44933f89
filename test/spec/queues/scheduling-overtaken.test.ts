import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Outgoing, startPauses } from '../../support/pause-client.ts';
import { startBroker } from '../../support/start-broker.ts';

/** What a look heard late must not hide what was scheduled since it looked. */

const SCHEDULED = {
  Body: 'm',
  BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-01-01T00:01:00Z' },
};

test('a message that is scheduled while a receive looks at the schedule comes due', async (t) => {
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

/** A receive that activates a message, and stands still as it takes the message's new number. */
async function startActivation(t: TestContext) {
  const pauses = startPauses();
  t.after(() => pauses.client.destroy());
  const broker = await startBroker(t, { client: pauses.client });
  await broker.createQueue('q');
  await broker.schedule('q', [
    { Body: 'first', BrokerProperties: { ScheduledEnqueueTimeUtc: '2026-01-01T00:00:30Z' } },
  ]);
  broker.clock.advance({ seconds: 30 });
  const taking = pauses.pauseNext(isHeadUpdate);
  const receive = broker.peekLock('q');
  await taking.reached;
  return { broker, pauses, receive, taking };
}

function isHeadUpdate({ command, collection }: Outgoing): boolean {
  return command === 'UpdateItemCommand' && collection.endsWith('.0');
}

test('a message that is scheduled while others are activated comes due', async (t) => {
  const { broker, pauses, receive, taking } = await startActivation(t);
  // Of the head of the partition, too: it is noted that nothing is due any more.
  const raising = pauses.pauseNextAnswer(isHeadUpdate);
  taking.goOn();
  await raising.reached;
  await broker.schedule('q', [SCHEDULED]);
  raising.goOn();
  assert.equal((await receive)?.body, 'first');
  broker.clock.advance({ seconds: 30 });
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});

test('a message that is scheduled after a purge comes due, whoever still activates what was purged', async (t) => {
  const { broker, receive, taking } = await startActivation(t);
  await broker.purge('q');
  await broker.schedule('q', [SCHEDULED]);
  taking.goOn();
  await receive;
  broker.clock.advance({ seconds: 30 });
  assert.equal((await broker.peekLock('q'))?.body, 'm');
});
