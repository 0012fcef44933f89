import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPauses } from '../support/pause-client.ts';
import { RawSession, sourceOf } from '../support/raw-session.ts';
import { startBroker } from '../support/start-broker.ts';

const QUEUES = ['a', 'b', 'c', 'd', 'e', 'f'];

test('row 12: what the database finds for many links of a connection together is claimed in turns', async (t) => {
  const { client, requests, pauseNextAnswer } = startPauses();
  t.after(() => client.destroy());
  const bus = await startBroker(t, { client });
  const receiver = RawSession.root(Number(new URL(bus.api.url).port));
  t.after(() => receiver.raw.destroy());
  const handles: number[] = [];
  for (const path of QUEUES) {
    await bus.createQueue(path);
    await bus.send(path, 'x');
    handles.push((await receiver.receiver(sourceOf(path))).handle);
  }
  const finds = QUEUES.map(() => pauseNextAnswer(({ command }) => command === 'QueryCommand'));
  for (const handle of handles) receiver.credit(handle, 1);
  await Promise.all(finds.map(({ reached }) => reached));
  const claims = () => requests.filter(({ command }) => command === 'UpdateItemCommand').length;
  let before = claims();
  const all = before + QUEUES.length;
  for (const { goOn } of finds) goOn();
  const perTurn: number[] = [];
  while (before < all) {
    await new Promise((resolve) => setImmediate(resolve));
    perTurn.push(claims() - before);
    before = claims();
  }
  assert.equal(Math.max(...perTurn), 1, perTurn.join(' '));
  for (const _ of QUEUES) await receiver.raw.hear('transfer');
});
