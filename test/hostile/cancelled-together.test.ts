import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { ask, message, Q, startProcess } from '../support/composed-process.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startPauses } from '../support/pause-client.ts';

/** Two processes cancel the two scheduled messages of one block at the same time. */

const QUEUE = async ({ management }: Here) => {
  await management.create('q', { kind: 'queue' });
};

const TOPIC = async ({ management }: Here) => {
  await management.create('q', { kind: 'topic', filteringMessagesBeforePublishing: true });
  await management.create('q/subscriptions/s', { kind: 'subscription' });
};

type Here = Awaited<ReturnType<typeof startProcess>>;

for (const [what, create, path, bytes] of [
  ['a queue', QUEUE, Q, 10],
  ['a queue', QUEUE, Q, 4000],
  ['a topic', TOPIC, parseEntityPath('q/subscriptions/s'), 10],
  ['a topic', TOPIC, parseEntityPath('q/subscriptions/s'), 4000],
] as const) {
  test(`two scheduled messages of ${bytes} bytes in one block of ${what}, cancelled by two processes, do not stop the others`, async (t) => {
    const pauses = startPauses();
    t.after(() => pauses.client.destroy());
    const clock = new ManualClock();
    const here = await startProcess(t, { client: pauses.client, clock });
    const there = await startProcess(t, { clock, namespace: here.namespace });
    await create(here);
    const scheduledEnqueueAt = clock.now() + 10_000;
    const text = () => randomBytes(bytes / 2).toString('hex');
    const sent = await here.broker.send(Q, [
      message(text(), { scheduledEnqueueAt }),
      message(text(), { scheduledEnqueueAt }),
    ]);
    const numbers = sent.map(({ sequenceNumber }) => sequenceNumber ?? 0n);
    const later = scheduledEnqueueAt + 1;
    await here.broker.send(Q, [message('other', { scheduledEnqueueAt: later })]);
    // Both have read the block before either changes it.
    const pause = pauses.pauseNext(({ command }) => command === 'TransactWriteItemsCommand');
    const first = here.broker.cancelScheduled(Q, numbers.slice(0, 1));
    await pause.reached;
    await there.broker.cancelScheduled(Q, numbers.slice(1));
    pause.goOn();
    await first;
    clock.advance({ seconds: 11 });
    const received = await there.broker.receive(path, ask({ maxMessages: 3 }));
    assert.deepEqual(
      received.map((one) => Buffer.from(one.message.body).toString()),
      ['other'],
    );
  });
}
