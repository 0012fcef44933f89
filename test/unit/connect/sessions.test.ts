import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Calls } from '../../../connect/https/calls/caller.ts';
import { Paces } from '../../../connect/https/messages/paces.ts';
import { RemoteReceiving } from '../../../connect/https/messages/receiving.ts';
import { RemoteSessions } from '../../../connect/https/messages/sessions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

/** When receivers of sessions over HTTP look for messages, and for sessions. */

const QUEUE = parseEntityPath('q');
const HOUR_MS = 60 * 60_000;
/** After so long without messages, receivers look as seldom as they ever do. */
const IDLE_MS = 60_000;
const PAUSE_MS = 4_500;

const SETTLED = '{"settlements":[{"settled":true}]}';
const SESSION = '{"sessionId":"a","sessionLock":"lock","lockedUntil":"2026-01-01T00:00:00Z"}';

/** A service without messages, which counts requests. */
class EmptyService implements Calls {
  readonly calls: Call[] = [];
  /** Whether it has sessions to accept. */
  hasSessions = false;

  async call(call: Call) {
    this.calls.push(call);
    const accepted = this.hasSessions ? answer(200, SESSION) : answer(204, '');
    if (call.path.endsWith('/$accept')) return accepted;
    return answer(200, call.path.endsWith('/$settle') ? SETTLED : '');
  }

  /** How many requests some time brings. */
  async countOf(work: () => Promise<void>): Promise<number> {
    const before = this.calls.length;
    await work();
    return this.calls.length - before;
  }
}

function answer(status: number, text: string) {
  return { status, header: () => undefined, text, bytes: Buffer.from(text) };
}

function start() {
  const service = new EmptyService();
  const scheduler = new ManualScheduler();
  const paces = new Paces(scheduler);
  const entities = { forget: () => {} };
  const dependencies = { caller: service, entities, scheduler, paces, background: () => {} };
  const receiving = new RemoteReceiving(dependencies);
  const sessions = new RemoteSessions(dependencies);
  const receiveIn = (sessionId: string) =>
    receiving.receive(QUEUE, {
      mode: 'peekLock',
      maxMessages: 10,
      waitMs: HOUR_MS,
      session: { sessionId, lockToken: `lock of ${sessionId}` },
    });
  const acceptNext = (signal?: AbortSignal) =>
    sessions.acceptSession(QUEUE, { sessionId: undefined, waitMs: HOUR_MS, signal });
  return { service, scheduler, paces, receiving, sessions, receiveIn, acceptNext };
}

test('what happens in one session makes nobody look into the others', async () => {
  const { service, scheduler, paces, receiving, receiveIn, acceptNext } = start();
  for (let n = 0; n < 20; n++) void receiveIn(`idle ${n}`);
  void acceptNext();
  await scheduler.pass(IDLE_MS);
  const requests = await service.countOf(async () => {
    for (let n = 0; n < 10; n++) {
      const settlement = { lockToken: `${n}`, action: { kind: 'complete' } } as const;
      await Promise.all([receiving.settle(QUEUE, [settlement], 'busy'), scheduler.pass(1)]);
    }
  });
  assert.equal(requests, 10);
  paces.sent(QUEUE, [{ sessionId: 'idle 3' }]);
  const before = service.calls.length;
  await scheduler.pass(0);
  assert.deepEqual(
    service.calls.slice(before).map(({ path, query }) => [path, query?.['sessionId']]),
    [
      ['q/sessions/$accept', undefined],
      ['q/messages/head', 'idle 3'],
    ],
  );
});

test('all who wait for the next session look together, once in 4.5 seconds', async () => {
  const { service, scheduler, acceptNext } = start();
  for (let n = 0; n < 50; n++) void acceptNext();
  await scheduler.pass(IDLE_MS);
  const requests = await service.countOf(() => scheduler.pass(100 * PAUSE_MS));
  assert.equal(requests, 100);
});

test('a session that is released here is offered at once to who waits for the next', async () => {
  const { service, scheduler, sessions, acceptNext } = start();
  void acceptNext();
  await scheduler.pass(IDLE_MS);
  const before = service.calls.length;
  await sessions.releaseSession(QUEUE, { sessionId: 'a', lockToken: 'lock' });
  await scheduler.pass(0);
  assert.deepEqual(
    service.calls.slice(before).map(({ path }) => path),
    ['q/sessions/$release', 'q/sessions/$accept'],
  );
});

test('who has given up waits for the look of another, but locks no session after it', async () => {
  const { service, scheduler, acceptNext } = start();
  service.hasSessions = true;
  const abort = new AbortController();
  const accepting = [acceptNext(), acceptNext(abort.signal), acceptNext(abort.signal)];
  await Promise.resolve();
  abort.abort();
  await scheduler.pass(0);
  const accepted = await Promise.all(accepting);
  assert.deepEqual(
    accepted.map((lock) => lock?.sessionId),
    ['a', undefined, undefined],
  );
  assert.equal(service.calls.length, 1);
});

test('who receives from a subscription here looks once its topic was sent a message here', async () => {
  const { service, scheduler, paces, receiving } = start();
  const options = { mode: 'peekLock', maxMessages: 10, waitMs: HOUR_MS } as const;
  for (const path of [
    'T/subscriptions/s',
    't/Subscriptions/s/$deadletterqueue',
    'other/subscriptions/s',
  ])
    void receiving.receive(parseEntityPath(path), options);
  await scheduler.pass(IDLE_MS);
  const before = service.calls.length;
  paces.sent(parseEntityPath('t'), [{}]);
  await scheduler.pass(0);
  assert.deepEqual(
    service.calls.slice(before).map(({ path }) => path),
    ['T/Subscriptions/s/messages/head'],
  );
});
