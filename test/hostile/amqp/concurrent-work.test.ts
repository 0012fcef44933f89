import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import { described, int, list, long, mapOf, NULL, str, uuid } from '../../../amqp/wire/value.ts';
import type { AcceptOptions, SessionLock } from '../../../shared/broker/broker.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { MB } from '../../../shared/domain/units.ts';
import { FAKE_NOW } from '../../support/fake-broker.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { fakeEntity, findableEntities } from '../../support/http-fixture.ts';
import { type RawSession, sessionSource, sourceOf, targetOf } from '../../support/raw-session.ts';

/** Row 12: the concurrent work in DynamoDB that one peer can cause. */

const MOST = BUDGETS.connection.workSlots;
const COUNT = 4 * MOST;

/** Operations that take a while, and the most of them at the same time. */
class Counted {
  highest = 0;
  #running = 0;

  async one(): Promise<void> {
    this.#running++;
    this.highest = Math.max(this.highest, this.#running);
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    this.#running--;
  }
}

const sessions = { ...QUEUE_DEFAULTS, requiresSession: true };
const entities = findableEntities({ q: fakeEntity('q'), s: fakeEntity('s', sessions) });
const lockOf = ({ sessionId = 'next' }: AcceptOptions): SessionLock => ({
  sessionId,
  lockToken: '00000000-0000-4000-8000-000000000001',
  lockedUntil: FAKE_NOW + 60_000,
});

function askForSessions({ raw }: RawSession, idOf: (handle: number) => string | undefined): void {
  for (let handle = 0; handle < COUNT; handle++) {
    const id = idOf(handle);
    const source = sessionSource('s', id === undefined ? NULL : str(id));
    const ends = { source, target: targetOf('here') };
    raw.say({ kind: 'attach', name: `l${handle}`, handle, role: 'receiver', ...ends });
  }
}

test('row 12: links to sessions lock some at a time, and release some at a time', async (t) => {
  const locked = new Counted();
  const givenBack = new Counted();
  let left = COUNT;
  const { connect, faults } = await startFakeGateway(t, {
    entities,
    calls: {
      acceptSession: async (_, options) => {
        await options.beforeAttempt?.();
        await locked.one();
        return lockOf(options);
      },
      releaseSession: async () => {
        await givenBack.one();
        left--;
      },
    },
  });
  const session = connect();
  askForSessions(session, (handle) => `session-${handle}`);
  for (let i = 0; i < COUNT; i++) await session.raw.hear('attach');
  assert.equal(locked.highest, MOST);
  session.raw.destroy();
  while (left > 0) await new Promise(setImmediate);
  assert.equal(givenBack.highest, MOST);
  assert.deepEqual(faults, []);
});

test('row 12: links that wait for a session query some at a time, and all of them wait', async (t) => {
  const looks = new Counted();
  const wake: (() => void)[] = [];
  const { connect } = await startFakeGateway(t, {
    entities,
    calls: {
      acceptSession: async (_, options) => {
        await options.beforeAttempt?.();
        await looks.one();
        options.onWait?.();
        await new Promise<void>((goOn) => wake.push(goOn));
        await options.beforeAttempt?.();
        await looks.one();
        return lockOf(options);
      },
    },
  });
  const session = connect();
  askForSessions(session, () => undefined);
  while (wake.length < COUNT) await new Promise(setImmediate);
  assert.equal(looks.highest, MOST);
  for (const goOn of wake) goOn();
  for (let i = 0; i < COUNT; i++) await session.raw.hear('attach');
  assert.equal(looks.highest, MOST);
});

/** Requests `COUNT` lock renewals on four links; the replies arrive on one. */
async function renewOften(session: RawSession): Promise<void> {
  const { handle } = await session.attach('receiver', [
    sourceOf('q/$management'),
    targetOf('answers'),
  ]);
  session.credit(handle, COUNT);
  const links: number[] = [];
  for (let i = 0; i < 4; i++) links.push(await session.sender(targetOf('q/$management')));
  const body = mapOf({ 'lock-tokens': list([uuid(Buffer.alloc(16, 1))]) });
  const payload = writeSections({
    properties: list([str('r'), NULL, NULL, NULL, str('answers')]),
    applicationProperties: mapOf({ operation: str('com.microsoft:renew-lock') }),
    body: [described(SECTION.value, body)],
  });
  for (let i = 0; i < COUNT; i++) {
    const transfer = { kind: 'transfer', handle: links[i % 4] ?? 0, deliveryId: i } as const;
    session.raw.say({ ...transfer, settled: true, deliveryTag: Buffer.from([i]) }, 0, payload);
  }
}

test('row 12: requests on many links are answered some at a time, and another peer does not wait for them', async (t) => {
  const renewed = new Counted();
  let goOn = () => {};
  const othersAnswered = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { connect } = await startFakeGateway(t, {
    entities,
    calls: {
      renewLocks: async (_, [lockToken = '']) => {
        await Promise.all([renewed.one(), othersAnswered]);
        return [{ lockToken, lockedUntil: FAKE_NOW }];
      },
    },
  });
  const greedy = connect();
  await renewOften(greedy);
  const other = connect();
  const peek = mapOf({ 'from-sequence-number': long(1n), 'message-count': int(1) });
  const { status } = await other.ask('q', 'peek-message', peek);
  assert.equal(status, 204);
  goOn();
  for (let i = 0; i < COUNT; i++) await greedy.raw.hear('transfer');
  assert.equal(renewed.highest, MOST);
});

test('row 8: requests that wait are not carried out after their connection is lost, and count no more', async (t) => {
  const memory = new MemoryBudget(100 * MB);
  let goOn = () => {};
  const until = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let renewed = 0;
  const { connect, gateway } = await startFakeGateway(t, {
    entities,
    memory,
    calls: {
      renewLocks: async (_, [lockToken = '']) => {
        renewed++;
        await until;
        return [{ lockToken, lockedUntil: FAKE_NOW }];
      },
    },
  });
  const session = connect();
  await renewOften(session);
  while (renewed < MOST) await new Promise(setImmediate);
  session.raw.destroy();
  while (gateway.connections > 0) await new Promise(setImmediate);
  goOn();
  while (memory.held > 0) await new Promise(setImmediate);
  assert.equal(renewed, MOST);
});
