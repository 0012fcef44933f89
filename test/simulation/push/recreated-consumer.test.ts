import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dispatcher } from '../../../local/push/dispatcher.ts';
import { LOCAL_WORKERS } from '../../../local/push/local-push.ts';
import { realRandom } from '../../../shared/app/real-random.ts';
import { AgeClock } from '../../../shared/domain/age.ts';
import type { LockedMessage } from '../../../shared/domain/messages/message.ts';
import { MINUTE_MS, SECOND_MS } from '../../../shared/domain/units.ts';
import { consumer, entity, locked } from '../../unit/push/batches.ts';
import { EMPTY_QUEUE, FakeStates, OF } from '../../unit/push/worker-fakes.ts';
import { Machine } from '../machines/machine.ts';
import { Timeline } from '../machines/timeline.ts';

/** A local server in virtual time, with a queue that a test fills. The target never answers the message `slow`. */
function start() {
  const timeline = new Timeline();
  const machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
  const states = new FakeStates();
  const waiting: LockedMessage[] = [];
  const called: string[] = [];
  const found = { ...entity('orders'), consumers: { [OF.consumer]: consumer({ maxBatch: 1 }) } };
  const dispatcher: Dispatcher = new Dispatcher({
    states,
    clock: machine.clock,
    ages: new AgeClock(machine.clock, () => machine.now()),
    scheduler: machine,
    random: realRandom,
    entities: { find: async () => found, read: async () => found, forget: () => {} },
    broker: {
      ...EMPTY_QUEUE,
      receive: async (_, { waitMs }) => {
        if (waiting.length === 0) await timeline.pause(waitMs);
        return waiting.splice(0, 1);
      },
    },
    targets: {
      refusalOf: () => undefined,
      call: async ({ messages }) => {
        const ids = messages.map(({ message }) => message.messageId);
        called.push(...ids);
        if (ids.includes('slow')) await new Promise(() => {});
        return { kind: 'answered', failures: [] };
      },
    },
    forgetHints: () => {},
    wakeOthers: async () => {},
    remind: async () => {},
    startAnother: async (of) => dispatcher.wake(of),
    tellFault: () => {},
    reportFault: (error) => assert.fail(String(error)),
    settings: LOCAL_WORKERS,
  });
  const send = (messageId: string) => {
    waiting.push(locked({ messageId }));
    dispatcher.wake(OF);
  };
  const until = async (what: string, isDone: () => boolean, ms: number) => {
    const end = timeline.now + ms;
    await timeline.runUntil(() => isDone() || timeline.now > end);
    assert.ok(isDone(), `${what} within ${ms} ms`);
  };
  return { timeline, states, dispatcher, called, send, until };
}

test('a consumer that is made anew during a call gets messages, although the call goes on', async () => {
  const { timeline, states, dispatcher, called, send, until } = start();
  // Something that always comes keeps the time going on.
  const tick = () => timeline.after(SECOND_MS, tick);
  tick();
  send('slow');
  await until('The first call begins', () => called.includes('slow'), SECOND_MS);
  // Its state goes with it.
  states.state = new FakeStates().state;
  dispatcher.wake(OF);
  const since = timeline.now;
  await timeline.runUntil(() => timeline.now > since + MINUTE_MS);
  send('next');
  await until('The next message is pushed', () => called.includes('next'), 5 * SECOND_MS);
  await timeline.runUntil(() => timeline.now > since + 2 * MINUTE_MS);
  assert.deepEqual(called, ['slow', 'next']);
});
