import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerDependencies } from '../../../shared/broker/dependencies.ts';
import type { WakeUps } from '../../../shared/broker/ports/wake-ups.ts';
import { receive } from '../../../shared/broker/receive/receive.ts';
import { acceptSession } from '../../../shared/broker/sessions/sessions.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { fakeEntity, findableEntities } from '../../support/http-fixture.ts';

const wakeUps: WakeUps = {
  isClosing: false,
  wait: () => ({
    done: Promise.resolve(),
    within: () => {},
    foundNothing: () => {},
    cancel: () => {},
  }),
};

for (const requiresSession of [false, true]) {
  const where = requiresSession ? 'in a session' : 'without a session';
  test(`a receive ${where} claims nothing if the client disconnects during the check of its right`, async () => {
    const claims: unknown[] = [];
    const gone = new AbortController();
    const dependencies: BrokerDependencies = Object.assign(Object.create(null), {
      entities: findableEntities({ q: fakeEntity('q', { ...QUEUE_DEFAULTS, requiresSession }) }),
      wakeUps,
      clock: { now: () => 0 },
      activity: { used: () => {} },
      monotonicNow: () => 0,
      random: { bytes: (count: number) => new Uint8Array(count) },
      messages: { claim: async (log: unknown) => claims.push(log) },
    });
    const messages = await receive(dependencies, parseEntityPath('q'), {
      mode: 'receiveAndDelete',
      maxMessages: 1,
      waitMs: 1000,
      signal: gone.signal,
      beforeAttempt: async () => gone.abort(),
      ...(requiresSession ? { session: { sessionId: 's', lockToken: 't' } } : {}),
    });
    assert.deepEqual(messages, []);
    assert.deepEqual(claims, []);
  });
}

for (const asked of [{ sessionId: 's' }, {}]) {
  const which = 'sessionId' in asked ? 'a named session' : 'the next session';
  test(`${which} is not locked if the client disconnects during the check of its right`, async () => {
    const locks: unknown[] = [];
    const gone = new AbortController();
    const dependencies: BrokerDependencies = Object.assign(Object.create(null), {
      entities: findableEntities({
        q: fakeEntity('q', { ...QUEUE_DEFAULTS, requiresSession: true }),
      }),
      wakeUps,
      clock: { now: () => 0 },
      activity: { used: () => {} },
      monotonicNow: () => 0,
      sessions: { accept: async (log: unknown) => locks.push(log) },
    });
    const lock = await acceptSession(dependencies, parseEntityPath('q'), {
      ...asked,
      waitMs: 1000,
      signal: gone.signal,
      beforeAttempt: async () => gone.abort(),
    });
    assert.equal(lock, undefined);
    assert.deepEqual(locks, []);
  });
}
