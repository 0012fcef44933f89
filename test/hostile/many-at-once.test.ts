import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NULL } from '../../amqp/wire/value.ts';
import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { QUEUE_DEFAULTS } from '../../shared/domain/entities/descriptions.ts';
import { startFakeGateway } from '../support/fake-gateway.ts';
import { fakeEntity, findableEntities } from '../support/http-fixture.ts';
import { startPauses } from '../support/pause-client.ts';
import { sessionSource, sourceOf } from '../support/raw-session.ts';
import { startBroker } from '../support/start-broker.ts';

/** Row 12: concurrent work of one peer is done in parts, one in each turn of the event loop. */

const turn = () => new Promise((resolve) => setImmediate(resolve));
/** One observation may cover the work of two turns. */
const seenAtMost = (perTurn: number) => 2 * perTurn;

/** The largest increase of `count` in one turn, until `isOver`. */
async function mostInTurn(count: () => number, isOver: () => boolean): Promise<number> {
  let most = 0;
  for (let before = count(); !isOver(); ) {
    await turn();
    most = Math.max(most, count() - before);
    before = count();
  }
  return most;
}

test('row 12: an operation on many messages begins a few requests in each turn', async (t) => {
  const MESSAGES = 5 * BUDGETS.turnRequests;
  const { client, requests } = startPauses();
  t.after(() => client.destroy());
  const bus = await startBroker(t, { client });
  await bus.createQueue('q');
  // Each has a block of its own.
  for (let i = 0; i < MESSAGES; i++) await bus.send('q', 'x');
  const most = async <Answer>(command: string, work: Promise<Answer>) => {
    let isOver = false;
    const ended = work.finally(() => {
      isOver = true;
    });
    const count = () => requests.filter((request) => request.command === command).length;
    const begun = count();
    const inTurn = await mostInTurn(count, () => isOver);
    const answer = await ended;
    assert.ok(count() - begun >= MESSAGES, `${count() - begun} requests`);
    assert.ok(inTurn <= seenAtMost(BUDGETS.turnRequests), `${command}: ${inTurn} in a turn`);
    return answer;
  };
  const locked = await most('UpdateItemCommand', bus.peekLockMany('q', MESSAGES));
  const lockTokens = locked.map(({ broker }) => broker.LockToken ?? '');
  await most('UpdateItemCommand', bus.post('q', '$renew', { lockTokens }, 200));
  const settlements = lockTokens.map((lockToken) => ({ lockToken, outcome: 'complete' as const }));
  await most('DeleteItemCommand', bus.settle('q', settlements));
});

for (const [what, source] of [
  ['receives', sourceOf('q')],
  ['waits for sessions', sessionSource('s', NULL)],
] as const) {
  test(`row 12: when a connection with many links is lost, a few ${what} end in each turn`, async (t) => {
    const LINKS = 4 * BUDGETS.turnEnds;
    let waiting = 0;
    let ended = 0;
    const untilEnded = async <Answer>(signal: AbortSignal | undefined, nothing: Answer) => {
      waiting++;
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      ended++;
      return nothing;
    };
    const { connect, faults } = await startFakeGateway(t, {
      entities: findableEntities({
        q: fakeEntity('q'),
        s: fakeEntity('s', { ...QUEUE_DEFAULTS, requiresSession: true }),
      }),
      calls: {
        receive: (_path, { signal, onWait }) => {
          onWait?.();
          return untilEnded<readonly ReceivedMessage[]>(signal, []);
        },
        acceptSession: (_path, { signal, onWait }) => {
          onWait?.();
          return untilEnded(signal, undefined);
        },
      },
    });
    const session = connect();
    for (let link = 0; link < LINKS; link++) {
      session.raw.say({
        kind: 'attach',
        name: `link-${link}`,
        handle: link,
        role: 'receiver',
        source,
      });
      session.credit(link, 1);
    }
    while (waiting < LINKS) await turn();
    session.raw.destroy();
    const inTurn = await mostInTurn(
      () => ended,
      () => ended === LINKS,
    );
    assert.ok(inTurn <= seenAtMost(BUDGETS.turnEnds), `${inTurn} in a turn`);
    assert.deepEqual(faults, []);
  });
}

test('row 12: when a message wakes receives of a lost connection one after the other, a few end in each turn', async (t) => {
  const LINKS = 4 * BUDGETS.turnEnds;
  const waiting: (() => void)[] = [];
  let ended = 0;
  const { connect, gateway, faults } = await startFakeGateway(t, {
    entities: findableEntities({ q: fakeEntity('q') }),
    calls: {
      // A receive that ends without the message leaves it to the next one.
      receive: async (_path, { beforeAttempt, onWait, signal }) => {
        onWait?.();
        await new Promise<void>((wake) => {
          waiting.push(wake);
          signal?.addEventListener('abort', () => wake());
        });
        await beforeAttempt?.();
        ended++;
        waiting.shift()?.();
        return [];
      },
    },
  });
  const session = connect();
  for (let link = 0; link < LINKS; link++) {
    const attach = {
      kind: 'attach',
      name: `link-${link}`,
      handle: link,
      role: 'receiver',
    } as const;
    session.raw.say({ ...attach, source: sourceOf('q') });
    session.credit(link, 1);
  }
  while (waiting.length < LINKS) await turn();
  session.raw.destroy();
  while (gateway.connections > 0) await turn();
  waiting.shift()?.();
  const inTurn = await mostInTurn(
    () => ended,
    () => ended === LINKS,
  );
  assert.ok(inTurn <= seenAtMost(BUDGETS.turnEnds), `${inTurn} in a turn`);
  assert.deepEqual(faults, []);
});
