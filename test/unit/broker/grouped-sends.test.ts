import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerDependencies } from '../../../shared/broker/dependencies.ts';
import { groupedStore } from '../../../shared/broker/group-commit/sends.ts';
import type { MessageStore } from '../../../shared/broker/ports/messages.ts';
import { noMemoryFor } from '../../../shared/domain/broker-error.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import type { Message } from '../../../shared/domain/messages/message.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { fakeEntity } from '../../support/http-fixture.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

/** Sends of one queue; each write is named by its messages, and waits until the one before it has been stored. */
function startSends(write: (ids: string) => Promise<void>) {
  const scheduler = new ManualScheduler();
  const writes: string[] = [];
  const append: MessageStore['append'] = async (_, messages) => {
    const ids = messages.map(({ messageId }) => messageId).join(' ');
    await write(ids);
    writes.push(ids);
    return messages.map(() => 1n);
  };
  const clock = { now: () => 0 };
  const store = groupedStore({
    clock,
    scheduler,
    messages: { append },
  } as unknown as BrokerDependencies & { readonly scheduler: ManualScheduler });
  const send = async (id: string, entity: Entity = fakeEntity('q'), orderedBy?: object) => {
    const message = { messageId: id, body: new Uint8Array(), properties: {} } as Message;
    const accepted = { entity, messages: [message], detection: undefined, placementKey: undefined };
    const result = await resultOf(store(accepted, orderedBy === undefined ? {} : { orderedBy }));
    return 'error' in result ? String(result.error) : id;
  };
  return { send, writes, scheduler };
}

test('sends that this process has no memory for together are stored one by one', async () => {
  const { send, writes } = startSends(async (ids) => {
    if (ids.includes(' ') || ids === 'large') throw noMemoryFor('copies of messages');
  });
  const outcomes = await Promise.all([send('a'), send('large'), send('b')]);
  assert.equal(outcomes[0], 'a');
  assert.match(outcomes[1] ?? '', /memory/);
  assert.equal(outcomes[2], 'b');
  assert.deepEqual(writes, ['a', 'b']);
});

test('a change of the entity does not reorder the sends of a link, and they do not share a write', async () => {
  let stored = () => {};
  const first = new Promise<void>((resolve) => {
    stored = resolve;
  });
  const { send, writes, scheduler } = startSends(async (ids) => {
    if (ids === 'a') await first;
  });
  const link = {};
  const changed = { ...fakeEntity('q'), epoch: 2 };
  const sending = [send('a', fakeEntity('q'), link)];
  await scheduler.settled();
  sending.push(send('b', fakeEntity('q'), link), send('c', changed, link), send('d', changed));
  await scheduler.settled();
  assert.deepEqual(writes, []);
  stored();
  await scheduler.pass(100);
  await Promise.all(sending);
  assert.deepEqual(writes, ['a', 'b', 'c d']);
});
