import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import {
  expectStatus,
  type OutcomeAnswer,
  type Received,
  type SettlementRequest,
  type TestBroker,
} from '../../support/test-broker.ts';
import { acceptSession, TestSession } from '../../support/test-session.ts';
import { createSubscription, createTopic, subscription } from '../../support/topic-entities.ts';
import { startTries, type TriesClient } from '../../support/tries-client.ts';

/**
 * A send whose write is carried out, though the answer is lost: a message that another process completes
 * meanwhile must not come back, and a send is answered 201 only where its message is stored.
 */

interface Scene {
  /** The process that sends; tries of its requests go as the test says. */
  readonly here: TestBroker;
  readonly there: TestBroker;
  readonly tries: TriesClient;
}

async function start(t: TestContext): Promise<Scene> {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const here = await startBroker(t, { client: tries.client });
  const there = await startBroker(t, { beside: here });
  return { here, there, tries };
}

interface Case {
  readonly name: string;
  /** Makes the entity; returns the path to send to, and how to complete everything that is there. */
  readonly prepare: (scene: Scene) => Promise<{
    readonly to: string;
    readonly completeAll: () => Promise<readonly string[]>;
    /** All that is there, whatever receivers remember of the front. */
    readonly peek: () => Promise<readonly Received[]>;
    readonly properties?: Record<string, unknown>;
  }>;
}

/** Receives and completes all that is there; returns the bodies. */
async function completeFrom(
  receive: () => Promise<readonly Received[]>,
  settle: (settlements: readonly SettlementRequest[]) => Promise<readonly OutcomeAnswer[]>,
): Promise<readonly string[]> {
  const messages = await receive();
  if (messages.length === 0) return [];
  const outcomes = await settle(
    messages.map(({ broker: { LockToken: lockToken } }) => ({ lockToken, outcome: 'complete' })),
  );
  assert.ok(outcomes.every(({ settled }) => settled));
  return messages.map(({ body }) => body);
}

const completeIn = (broker: TestBroker, path: string) => () =>
  completeFrom(
    () => broker.peekLockMany(path, 100),
    (settlements) => broker.settle(path, settlements),
  );

const CASES: readonly Case[] = [
  {
    name: 'a queue',
    prepare: async ({ here, there }) => {
      expectStatus(await here.createQueue('q'), 201);
      return { to: 'q', completeAll: completeIn(there, 'q'), peek: () => there.peek('q') };
    },
  },
  {
    name: 'a topic',
    prepare: async ({ here, there }) => {
      await createTopic(here);
      await createSubscription(here, subscription('s'));
      const from = subscription('s');
      return { to: 't', completeAll: completeIn(there, from), peek: () => there.peek(from) };
    },
  },
  {
    name: 'a session that is held',
    prepare: async ({ here, there }) => {
      expectStatus(await here.createQueue('s', { RequiresSession: 'true' }), 201);
      const { id, lock, lockedUntilUtc } = await acceptSession(here, 's', 'a');
      const handle = { sessionId: id, sessionLock: lock, lockedUntilUtc };
      const session = new TestSession(there, 's', handle);
      const completeAll = () =>
        completeFrom(
          () => session.peekLockMany(100),
          (settlements) => session.settle(settlements),
        );
      const properties = { SessionId: 'a' };
      return { to: 's', completeAll, peek: () => session.peek(), properties };
    },
  },
];

for (const { name, prepare } of CASES) {
  for (const count of [1, 3]) {
    const what = count === 1 ? 'a single message' : 'a batch';
    const sendTo = async (
      { here }: Scene,
      to: string,
      properties: Record<string, unknown> | undefined,
    ) =>
      count === 1
        ? await here.send(to, '0', properties)
        : await here.sendBatch(
            to,
            Array.from({ length: count }, (_, i) => ({
              Body: `${i}`,
              ...(properties === undefined ? {} : { BrokerProperties: properties }),
            })),
          );

    test(`${what} to ${name} that was stored unheard, and completed, does not come back`, async (t) => {
      const scene = await start(t);
      const { to, completeAll, properties } = await prepare(scene);
      let completed: readonly string[] = [];
      scene.tries.next('PutItemCommand', [
        'unheard',
        async () => {
          completed = await completeAll();
        },
      ]);
      expectStatus(await sendTo(scene, to, properties), 504);
      assert.equal(completed.length, count);
      assert.deepEqual(await completeAll(), []);
    });

    test(`${what} to ${name} whose write arrives late comes at most once`, async (t) => {
      const scene = await start(t);
      const { to, completeAll, peek, properties } = await prepare(scene);
      scene.tries.next('PutItemCommand', ['late']);
      const answer = await sendTo(scene, to, properties);
      const before = await completeAll();
      await scene.tries.arrive();
      assert.equal(before.length + (await peek()).length, count);
      assert.equal(answer.status, before.length > 0 ? 201 : 504);
    });

    test(`${what} to ${name} that was stored unheard, and is still there, is acknowledged`, async (t) => {
      const scene = await start(t);
      const { to, completeAll, properties } = await prepare(scene);
      scene.tries.next('PutItemCommand', ['unheard']);
      expectStatus(await sendTo(scene, to, properties), 201);
      assert.equal((await completeAll()).length, count);
    });
  }
}
