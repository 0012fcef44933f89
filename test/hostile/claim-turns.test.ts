import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startPauses } from '../support/pause-client.ts';
import { RawSession, sourceOf } from '../support/raw-session.ts';
import { startBroker } from '../support/start-broker.ts';

/** Row 12: links of one connection that find messages at the same time claim them in turns. */

/** After this many turns of the event loop, nothing more is expected. */
const TURNS_MAX = 10_000;
/** The default lock duration of a queue. */
const LOCK_SECONDS = 60;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A connection with this many links, each to a queue whose message was just found. */
async function start(t: TestContext, links: number, claim: string, senderSettleMode: number) {
  const { client, requests, pauseNextAnswer } = startPauses();
  t.after(() => client.destroy());
  const bus = await startBroker(t, { client });
  const receiver = RawSession.root(Number(new URL(bus.api.url).port));
  t.after(() => receiver.raw.destroy());
  const handles: number[] = [];
  for (let link = 0; link < links; link++) {
    await bus.createQueue(`q${link}`);
    await bus.send(`q${link}`, 'x');
    handles.push((await receiver.receiver(sourceOf(`q${link}`), { senderSettleMode })).handle);
  }
  const finds = handles.map(() => pauseNextAnswer(({ command }) => command === 'QueryCommand'));
  for (const handle of handles) receiver.credit(handle, 1);
  await Promise.all(finds.map(({ reached }) => reached));
  const before = requests.length;
  const claims = () => requests.slice(before).filter(({ command }) => command === claim).length;
  for (const { goOn } of finds) goOn();
  return { bus, receiver, claims };
}

test('row 12: links of one connection claim one after the other, one in each turn', async (t) => {
  const LINKS = 6;
  const { receiver, claims } = await start(t, LINKS, 'UpdateItemCommand', 0);
  let before = 0;
  const perTurn: number[] = [];
  while (before < LINKS && perTurn.length < TURNS_MAX) {
    await turn();
    perTurn.push(claims() - before);
    before = claims();
  }
  assert.equal(before, LINKS);
  assert.equal(Math.max(...perTurn), 1);
  for (let link = 0; link < LINKS; link++) await receiver.raw.hear('transfer');
});

test('row 12: a lock begins when it is taken, however long the claim waited for its turn', async (t) => {
  const { bus, receiver } = await start(t, 1, 'UpdateItemCommand', 0);
  // The database has answered; the claim follows.
  bus.clock.advance({ seconds: LOCK_SECONDS - 1 });
  await receiver.raw.hear('transfer');
  bus.clock.advance({ seconds: LOCK_SECONDS - 1 });
  assert.equal(await bus.peekLock('q0'), undefined);
});

test('row 12: links whose connection is lost while they wait for their turn remove no message', async (t) => {
  const LINKS = 30;
  const { receiver, claims } = await start(t, LINKS, 'DeleteItemCommand', 1);
  receiver.raw.destroy();
  for (let turns = 0; turns < 20 * LINKS; turns++) await turn();
  assert.ok(claims() < LINKS / 2, `${claims()} messages were removed`);
});
