import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import {
  type AmqpValue,
  binary,
  bool,
  described,
  list,
  mapOf,
  str,
  symbol,
  timestamp,
} from '../../../amqp/wire/value.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { LIMITS } from '../../../shared/domain/limits.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { fakeGateway, turnsUntil } from '../../support/fake-peer.ts';
import { asking, request } from '../../support/management-peer.ts';
import { singleTurns } from '../../support/single-turns.ts';

const { sentMessageBytes, valueBytes } = BUDGETS.weights;
const { heldPerByte, heldPerShownByte, turnBytes } = BUDGETS.delivery;
const { turnMessageBytes, turnReadBytes } = BUDGETS.connection;

const dueMessage = (value: AmqpValue) =>
  writeSections({
    annotations: mapOf({ 'x-opt-scheduled-enqueue-time': timestamp(FAKE_NOW + 60_000) }, symbol),
    body: [described(SECTION.value, value)],
  });
const scheduleOf = (messages: readonly Uint8Array[]) =>
  mapOf({ messages: list(messages.map((message) => mapOf({ message: binary(message) }))) });

/**
 * Messages of one schedule decoded in each turn, as far as they count as memory. A turn of large messages
 * is ended by the test, after several turns of the event loop.
 */
async function readPerTurn(
  t: TestContext,
  messages: readonly Uint8Array[],
  { bytesOfOne, loopTurns }: { readonly bytesOfOne: number; readonly loopTurns: number },
) {
  const { workTurns, end } = singleTurns();
  const made = fakeGateway({ workTurns });
  let isSent = false;
  made.broker.send = async () => {
    isSent = true;
    return [];
  };
  const { ask } = await asking(t, made);
  ask(request('schedule-message', scheduleOf(messages)));
  const perTurn: number[] = [];
  for (let turns = 0, last = made.memory.held; turns < 1000 && !isSent; turns++) {
    await turnsUntil(() => false, loopTurns);
    perTurn.push(Math.round((made.memory.held - last) / bytesOfOne));
    last = made.memory.held;
    end();
  }
  assert.ok(isSent);
  // The first count is of the request itself, the last one of the memory that it releases.
  return perTurn.slice(2, -1);
}

test('row 5: of large messages that are scheduled together, one is decoded in a turn', async (t) => {
  const message = dueMessage(binary(Buffer.alloc(turnBytes)));
  const bytesOfOne = message.length * heldPerByte + sentMessageBytes;
  const messages = Array<Buffer>(20).fill(message);
  const perTurn = await readPerTurn(t, messages, { bytesOfOne, loopTurns: 10 });
  assert.ok(Math.max(...perTurn) <= 1, `${perTurn}`);
  assert.ok(perTurn.length >= 12, `${perTurn}`);
});

test('row 5: of small messages that are scheduled together, a few are decoded in a turn', async (t) => {
  const message = dueMessage(binary(Buffer.alloc(10)));
  const bytesOfOne = message.length * heldPerByte + sentMessageBytes;
  const messages = Array<Buffer>(1000).fill(message);
  const perTurn = await readPerTurn(t, messages, { bytesOfOne, loopTurns: 1 });
  const most = Math.ceil(turnReadBytes / (message.length + turnMessageBytes));
  // Some may be decoded before the test looks, others after it in the same turn.
  assert.ok(Math.max(...perTurn) <= 2 * most, `${perTurn}`);
  assert.ok(perTurn.length >= messages.length / most / 3, `${perTurn}`);
});

test('row 5: a small schedule does not wait for a turn', async (t) => {
  const { workTurns } = singleTurns();
  // Its turn never ends.
  await workTurns.next();
  const made = fakeGateway({ workTurns });
  let sent = 0;
  made.broker.send = async (_path, messages) => {
    sent += messages.length;
    return [];
  };
  const { ask } = await asking(t, made);
  ask(request('schedule-message', scheduleOf([dueMessage(binary(Buffer.alloc(1000)))])));
  await turnsUntil(() => sent === 1, 200);
  assert.equal(sent, 1);
});

test('row 5: scheduled messages count with their decoded size until they are stored', async (t) => {
  const made = fakeGateway();
  const { memory } = made;
  let finish = () => {};
  let held = 0;
  const zeros = 200_000;
  const properties = 60;
  const others = 30;
  made.broker.send = async () => {
    held = memory.held;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return [];
  };
  const { ask } = await asking(t, made);
  const before = memory.held;
  const names = Array.from({ length: properties }, (_, i) => [`p${i}`, bool(true)] as const);
  const withProperties = Buffer.concat([
    writeSections({ applicationProperties: mapOf(Object.fromEntries(names)), body: [] }),
    dueMessage(binary(Buffer.alloc(1))),
  ]);
  const shown = dueMessage(list([str('\0'.repeat(zeros))]));
  const messages = [shown, ...Array<Uint8Array>(others).fill(withProperties)];
  const payload = request('schedule-message', scheduleOf(messages));
  ask(payload);
  await turnsUntil(() => held > 0);
  const json = 6 * zeros * heldPerShownByte;
  const asked = payload.length * (1 + heldPerByte);
  const own = messages.reduce((sum, one) => sum + one.length * heldPerByte + sentMessageBytes, 0);
  const least = asked + own + json + others * properties * 2 * valueBytes;
  assert.ok(held - before >= least, `${held - before} of ${least}`);
  finish();
  await turnsUntil(() => memory.held === before, 100);
  assert.equal(memory.held, before);
});

test('row 5: a schedule that is too large for its entity is refused before a message is decoded', async (t) => {
  const { connect } = await startFakeGateway(t);
  const session = connect();
  const noMessage = Buffer.alloc(LIMITS.batchBytes / 2, 0xff);
  const { condition } = await session.ask(
    'q',
    'schedule-message',
    scheduleOf([noMessage, noMessage, noMessage]),
  );
  assert.equal(condition, 'amqp:link:message-size-exceeded');
});
