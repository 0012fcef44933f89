import assert from 'node:assert/strict';
import { test } from 'node:test';
import { str } from '../../../amqp/wire/value.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { startFakeGateway } from '../../support/fake-gateway.ts';
import { fakeEntity, findableEntities, rule } from '../../support/http-fixture.ts';
import { dataOf, sessionSource, sourceOf } from '../../support/raw-session.ts';

/** Receiver links while the database is busy. A link that ends takes its session with it, so it must stay. */

const QUEUE = parseEntityPath('q');
const SENT = { body: Buffer.from('sent'), properties: {} };
/** Pauses are short. */
const QUICK: Scheduler = {
  ...realScheduler,
  after: (ms, work) => realScheduler.after(ms / 100, work),
};

for (const requiresSession of [false, true]) {
  const what = requiresSession ? 'the receiver of a session' : 'a receiver';
  test(`${what} outlasts a receive that a busy database refuses`, async (t) => {
    const description = { ...QUEUE_DEFAULTS, requiresSession };
    const entities = findableEntities({ q: fakeEntity('q', description) });
    const { broker, connect } = await startFakeGateway(t, { scheduler: QUICK, entities });
    broker.failures.receive = serviceBusy('Too many requests.');
    await broker.send(QUEUE, [SENT]);
    const session = connect();
    const source = requiresSession ? sessionSource('q', str('s')) : sourceOf('q');
    const { handle } = await session.receiver(source);
    session.credit(handle, 1);
    const said = await session.raw.hear('transfer', 'detach');
    assert.equal(said.kind === 'transfer' && dataOf(said.payload), 'sent');
  });
}

test('a receiver that waits outlasts a check of its right that a busy database refuses', async (t) => {
  let isBusy = false;
  const checks: (() => void)[] = [];
  const scheduler: Scheduler = {
    ...realScheduler,
    every: (ms, work) => {
      checks.push(work);
      return realScheduler.every(ms, work);
    },
  };
  let arrive = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  t.after(() => arrive());
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const namespaceKeys = {
    rules: async () => {
      if (isBusy) throw serviceBusy('Too many requests.');
      return [rule('root', 'Manage', 'Send', 'Listen')];
    },
  };
  const calls = {
    receive: async () => {
      begun();
      await arrival;
      throw serviceBusy('Over.');
    },
  };
  const { connect } = await startFakeGateway(t, { scheduler, namespaceKeys, calls });
  const session = connect();
  const { handle } = await session.receiver(sourceOf('q'));
  session.credit(handle, 1);
  await hasBegun;
  isBusy = true;
  for (const check of checks) check();
  await new Promise((resolve) => setImmediate(resolve));
  isBusy = false;
  // The first detach is the answer to this one, or what the check sent.
  session.raw.say({ kind: 'detach', handle, closed: true });
  const said = await session.raw.hear('detach');
  assert.equal(said.error, undefined);
});
