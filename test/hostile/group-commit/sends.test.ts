import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { message, Q, startProcess, turns } from '../../support/composed-process.ts';
import { hookedClient } from '../../support/hooked-client.ts';
import { interposingClient } from '../../support/interposing-client.ts';

/** Sends that share a write with those of another caller, or would wait for them. */

const SENDERS = 8;

test('a sender whose messages other processes send at the same time, too, does not make the other sends of its group fail', async (t) => {
  const { client, beforeNextTransaction } = interposingClient();
  t.after(() => client.destroy());
  const { broker, management, namespace, clock } = await startProcess(t, { client });
  await management.create('q', { kind: 'queue', requiresDuplicateDetection: true });
  const other = await startProcess(t, { namespace, clock });
  await broker.send(Q, [message('before')]);
  const ids = Array.from({ length: 12 }, (_, i) => `hostile ${i}`);
  let next = 0;
  const overtake = async () => {
    const messageId = ids[next++];
    if (messageId === undefined) return;
    await other.broker.send(Q, [message('first', { messageId })]);
    beforeNextTransaction(overtake);
  };
  beforeNextTransaction(overtake);
  const again = ids.map((messageId) => message('again', { messageId }));
  const hostile = resultOf(broker.send(Q, again));
  const honest = await resultOf(broker.send(Q, [message('honest', { messageId: 'honest' })]));
  await hostile;
  assert.ok(!('error' in honest), 'error' in honest ? String(honest.error) : '');
  assert.ok(next > 3, `overtaken ${next} times`);
});

for (const { what, kilobytes, count, isTopic } of [
  { what: '300 KB', kilobytes: 300, count: 1, isTopic: false },
  { what: '20 messages to a topic', kilobytes: 1, count: 20, isTopic: true },
]) {
  test(`sends of ${what}, of which a group would hold one only, do not wait for each other`, async (t) => {
    let isHeld = false;
    let waiting = 0;
    let letGo = () => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const client = hookedClient(async () => {
      if (!isHeld) return;
      waiting++;
      await gate;
    });
    t.after(() => client.destroy());
    const { broker, management } = await startProcess(t, { client, memoryBytes: 2_000_000_000 });
    if (isTopic) {
      await management.create('q', { kind: 'topic' });
      await management.create('q/subscriptions/s', { kind: 'subscription' });
    } else {
      await management.create('q', { kind: 'queue', maxMessageSizeInKilobytes: 1024 });
    }
    await broker.send(Q, [message('before')]);
    isHeld = true;
    const body = Buffer.alloc(kilobytes * 1024);
    const sends = Array.from({ length: SENDERS }, () =>
      broker.send(
        Q,
        Array.from({ length: count }, () => message('', { body })),
      ),
    );
    while (waiting === 0) await turns(10);
    await turns(500);
    const atOnce = waiting;
    isHeld = false;
    letGo();
    await Promise.all(sends);
    assert.ok(atOnce >= SENDERS / 2, `${atOnce} of ${SENDERS} are under way`);
  });
}
