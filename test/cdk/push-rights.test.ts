import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { TABLE_RIGHTS } from '../../cdk/functions.ts';
import {
  type ComposedDependencies,
  composeDependencies,
} from '../../shared/app/compose-dependencies.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { composeStates } from '../../shared/app/push/compose-states.ts';
import { composeWorker } from '../../shared/app/push/compose-worker.ts';
import { wakeForItems } from '../../shared/app/push/stored-wakes.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { logOf } from '../../shared/domain/blocks/log.ts';
import type { Batch, ConsumerReference, Failure } from '../../shared/push/ports.ts';
import { runWorker } from '../../shared/push/worker.ts';
import { wakeNoteKey } from '../../shared/storage/schema/message-keys.ts';
import { ANY_TARGET, putConsumer } from '../support/consumers.ts';
import { clientWithRights } from '../support/rights-client.ts';
import { startBroker, TABLES } from '../support/start-broker.ts';
import { expectStatus } from '../support/test-broker.ts';
import {
  createSubscriptions,
  createTopic,
  drainBodies,
  subscription,
} from '../support/topic-entities.ts';

const HOUR_MS = 3_600_000;

/** Dead-letters the bodies `dead`, defers `later`, abandons `again`, and completes all others. */
function failuresOf({ messages }: Batch): readonly Failure[] {
  return messages.flatMap(({ sequenceNumber, message }): readonly Failure[] => {
    const body = Buffer.from(message.body).toString();
    if (body.startsWith('dead')) return [{ sequenceNumber, action: { kind: 'deadLetter' } }];
    if (body === 'later') return [{ sequenceNumber, action: { kind: 'defer' } }];
    return body === 'again' ? [{ sequenceNumber, action: { kind: 'abandon' } }] : [];
  });
}

/** A namespace with `push`, and processes beside it with the rights of the functions `wake` and `push`. */
async function startPushing(t: TestContext) {
  const broker = await startBroker(t, { push: ANY_TARGET });
  const denied: string[] = [];
  const limited = (name: 'wake' | 'push') => {
    const client = clientWithRights(TABLE_RIGHTS[name], (what) => denied.push(what));
    t.after(() => client.destroy());
    return client;
  };
  const beside = composeDependencies({
    client: limited('push'),
    tables: TABLES,
    namespace: broker.namespace,
    clock: broker.clock,
    random: realRandom,
    rootKey: 'none',
    leaseMs: LEASE_MS.deployed,
  });
  const states = composeStates({
    client: limited('wake'),
    tables: TABLES,
    namespace: broker.namespace,
    clock: broker.clock,
    random: realRandom,
  });
  /** Wakes the consumers of a queue as the stream would; returns the bodies that were pushed. */
  const push = async (path: string) => {
    const entity = await beside.entities.find(path);
    assert.ok(entity !== undefined);
    const started: ConsumerReference[] = [];
    const wake = () =>
      wakeForItems(states, [wakeNoteKey(logOf(entity, 'main', 0), realRandom).pk], async (of) => {
        started.push(of);
      });
    await wake();
    assert.equal(started.length, 1);
    const pushed = await runOne(beside, started[0], wake);
    await beside.background.settled();
    return pushed;
  };
  return { broker, push, denied };
}

async function runOne(
  beside: ComposedDependencies,
  of: ConsumerReference | undefined,
  wake: () => Promise<void>,
): Promise<readonly string[]> {
  assert.ok(of !== undefined);
  const pushed: string[] = [];
  const worker = composeWorker(beside, {
    targets: {
      refusalOf: () => undefined,
      call: async (batch) => {
        pushed.push(...batch.messages.map(({ message }) => Buffer.from(message.body).toString()));
        // While the worker runs, so that its state is changed.
        await wake();
        return { kind: 'answered', failures: failuresOf(batch) };
      },
    },
    settings: {
      lingerMs: 0,
      waitMsMax: 0,
      pauseMsMax: 300_000,
      graceMs: 0,
      heldBytesMax: 1_000_000,
      claim: { form: 'batch', bytes: 1_000_000, oneMayExceed: true },
    },
    startAnother: async () => {},
    tellFault: () => {},
    reportFault: (error) => assert.fail(String(error)),
  });
  const endsAt = worker.scheduler.now() + HOUR_MS;
  await runWorker(worker, of, { endsAt, signal: new AbortController().signal });
  return pushed;
}

test('the rights of wake and push are enough for all that becomes of messages of a queue', async (t) => {
  const { broker, push, denied } = await startPushing(t);
  await createTopic(broker, 'failed', { RequiresDuplicateDetection: 'true' });
  await createSubscriptions(broker, [subscription('s', 'failed')]);
  const forward = { ForwardDeadLetteredMessagesTo: 'failed', MaxDeliveryCount: '2' };
  expectStatus(await broker.createQueue('q', forward), 201);
  expectStatus(await putConsumer(broker, 'q/Consumers/worker'), 201);
  for (const body of ['a', 'dead', 'later', 'again', 'dead 2']) {
    expectStatus(await broker.send('q', body), 201);
  }
  const bodies = await push('q');
  assert.deepEqual([...bodies].sort(), ['a', 'again', 'dead', 'dead 2', 'later']);
  assert.deepEqual(denied, []);
  assert.deepEqual(await drainBodies(broker, subscription('s', 'failed')), ['dead', 'dead 2']);
});

test('they are enough for sessions, and for dead letters that stay', async (t) => {
  const { broker, push, denied } = await startPushing(t);
  expectStatus(await broker.createQueue('q', { RequiresSession: 'true' }), 201);
  expectStatus(await putConsumer(broker, 'q/Consumers/worker'), 201);
  for (const body of ['a', 'dead', 'later', 'b']) {
    expectStatus(await broker.send('q', body, { SessionId: body.slice(0, 1) }), 201);
  }
  assert.deepEqual([...(await push('q'))].sort(), ['a', 'b', 'dead', 'later']);
  assert.deepEqual(denied, []);
  assert.deepEqual(await drainBodies(broker, 'q/$deadletterqueue'), ['dead']);
});
