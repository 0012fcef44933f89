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
 * Sends whose write succeeds although its answer is lost. A message that another process completes meanwhile
 * must not be stored again, and a send may answer 201 only if its message is stored.
 */

interface Fixture {
  /** The sending process, whose requests to DynamoDB fail as the test says. */
  readonly here: TestBroker;
  readonly there: TestBroker;
  readonly tries: TriesClient;
}

async function start(t: TestContext): Promise<Fixture> {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const here = await startBroker(t, { client: tries.client });
  const there = await startBroker(t, { beside: here });
  return { here, there, tries };
}

interface Case {
  readonly name: string;
  /** Creates the entity; returns the path to send to, and functions on all its messages. */
  readonly prepare: (fixture: Fixture) => Promise<{
    readonly to: string;
    readonly completeAll: () => Promise<readonly string[]>;
    /** Reads all messages, also those that a scan hint skips. */
    readonly peek: () => Promise<readonly Received[]>;
    readonly properties?: Record<string, unknown>;
  }>;
}

/** Receives and completes all messages; returns their bodies. */
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
    name: 'a locked session',
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
      { here }: Fixture,
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

    test(`${what} to ${name} whose send lost its answer is not stored again after it was completed`, async (t) => {
      const fixture = await start(t);
      const { to, completeAll, properties } = await prepare(fixture);
      let completed: readonly string[] = [];
      fixture.tries.next('PutItemCommand', [
        'answer-lost',
        async () => {
          completed = await completeAll();
        },
      ]);
      expectStatus(await sendTo(fixture, to, properties), 504);
      assert.equal(completed.length, count);
      assert.deepEqual(await completeAll(), []);
    });

    test(`${what} to ${name} whose write arrives late is delivered at most once`, async (t) => {
      const fixture = await start(t);
      const { to, completeAll, peek, properties } = await prepare(fixture);
      fixture.tries.next('PutItemCommand', ['late']);
      const answer = await sendTo(fixture, to, properties);
      const before = await completeAll();
      await fixture.tries.arrive();
      assert.equal(before.length + (await peek()).length, count);
      assert.equal(answer.status, before.length > 0 ? 201 : 504);
    });

    test(`${what} to ${name} whose send lost its answer is acknowledged if it is still stored`, async (t) => {
      const fixture = await start(t);
      const { to, completeAll, properties } = await prepare(fixture);
      fixture.tries.next('PutItemCommand', ['answer-lost']);
      expectStatus(await sendTo(fixture, to, properties), 201);
      assert.equal((await completeAll()).length, count);
    });
  }
}
