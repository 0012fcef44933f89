import assert from 'node:assert/strict';
import { isMore } from '../runner/more.ts';
import { sending, settling, transact } from '../spec/transactions/transaction.ts';
import type { Answer } from '../support/api-client.ts';
import { expectStatus, type Received, type TestBroker } from '../support/test-broker.ts';
import { acceptRaw, acceptSession } from '../support/test-session.ts';
import {
  createSubscription,
  createTopic,
  EVERYTHING,
  putRule,
  subscription,
} from '../support/topic-entities.ts';

/** Every operation over HTTP that changes something. */

/** One request that changes something, and a view of its effect by another process. */
interface Operation {
  readonly run: () => Promise<string>;
  readonly see: () => Promise<unknown>;
}

/** Prepares an operation on an entity of this name; `there` is another process. */
export type Prepare = (here: TestBroker, there: TestBroker, name: string) => Promise<Operation>;

/** The result of a successful request. */
export const OK = 'ok';

function codeOf(answer: Answer): string {
  return answer.status < 300
    ? OK
    : (answer.headers.get('x-dynabus-error') ?? String(answer.status));
}

const messagesIn = async (broker: TestBroker, path: string) =>
  (await broker.peek(path)).map(({ body, broker: { State } }) => `${body.slice(0, 20)} ${State}`);

/** Creates a queue with these messages, all of them locked. */
async function locked(here: TestBroker, name: string, ...bodies: string[]): Promise<Received[]> {
  expectStatus(await here.createQueue(name), 201);
  if (bodies.length > 0) {
    expectStatus(
      await here.sendBatch(
        name,
        bodies.map((Body) => ({ Body })),
      ),
      201,
    );
  }
  const messages = await here.peekLockMany(name, Math.max(1, bodies.length));
  assert.equal(messages.length, bodies.length);
  return [...messages];
}

const settle =
  (outcome: 'complete' | 'abandon' | 'defer' | 'deadLetter'): Prepare =>
  async (here, there, name) => {
    const [message] = await locked(here, name, '1', '2');
    assert.ok(message);
    const { LockToken: lockToken } = message.broker;
    return {
      run: async () => {
        const [answer] = await here.settle(name, [{ lockToken, outcome }]);
        return answer?.settled ? OK : (answer?.error?.code ?? 'none');
      },
      see: async () => [
        await messagesIn(there, name),
        await messagesIn(there, `${name}/$deadletterqueue`),
        // An abandoned message is available again.
        outcome === 'abandon' && (await there.peekLock(name))?.body,
      ],
    };
  };

const sendTo =
  (
    create: (here: TestBroker, name: string) => Promise<unknown>,
    send: (here: TestBroker, name: string) => Promise<Answer>,
    from = (name: string) => name,
  ): Prepare =>
  async (here, there, name) => {
    await create(here, name);
    return {
      run: async () => codeOf(await send(here, name)),
      see: () => messagesIn(there, from(name)),
    };
  };

const queue =
  (settings: Record<string, string> = {}) =>
  (here: TestBroker, name: string) =>
    here.createQueue(name, settings);

async function topic(here: TestBroker, name: string): Promise<void> {
  await createTopic(here, name);
  for (const one of ['s', 'other']) await createSubscription(here, subscription(one, name));
}

const many = (count: number, body = (i: number) => `${i}`) =>
  Array.from({ length: count }, (_, i) => ({ Body: body(i) }));
/** So many that a topic stores them in steps. */
const STEPPED = isMore() ? 2000 : 120;
const LATER = { ScheduledEnqueueTimeUtc: 'Sun, 01 Feb 2026 00:00:00 GMT' };

const management =
  (
    prepare: (here: TestBroker, name: string) => Promise<unknown>,
    change: (here: TestBroker, name: string) => Promise<Answer>,
    path = (name: string) => name,
  ): Prepare =>
  async (here, there, name) => {
    await prepare(here, name);
    return {
      run: async () => codeOf(await change(here, name)),
      see: async () => {
        const { status, text } = await there.request('GET', path(name));
        return [status, /<LockDuration>[^<]*/.exec(text)?.[0]];
      },
    };
  };

const session =
  (run: (held: Awaited<ReturnType<typeof acceptSession>>) => Promise<Answer>): Prepare =>
  async (here, there, name) => {
    expectStatus(await here.createQueue(name, { RequiresSession: 'true' }), 201);
    expectStatus(await here.send(name, 'm', { SessionId: 'a' }), 201);
    const held = await acceptSession(here, name, 'a');
    return {
      run: async () => codeOf(await run(held)),
      see: async () => {
        const state = await there.request('GET', `${name}/sessions/$state?${held.query}`);
        const again = await acceptRaw(there, name, 'a');
        return [state.status, state.text.slice(0, 20), again.status];
      },
    };
  };

/** Operations by their names in test titles. */
export const OPERATIONS: Readonly<Record<string, Prepare>> = {
  'a send': sendTo(queue(), (here, name) => here.send(name, 'm')),
  'a send of a large message': sendTo(queue(), (here, name) =>
    here.send(name, Buffer.from(Array.from({ length: 9000 }, (_, i) => (i * i * 31) % 251))),
  ),
  'a send of a batch': sendTo(queue(), (here, name) => here.sendBatch(name, many(80))),
  'a send to a queue with duplicate detection': sendTo(
    queue({ RequiresDuplicateDetection: 'true' }),
    (here, name) => here.send(name, 'm', { MessageId: 'known' }),
  ),
  'a send to a partitioned queue': sendTo(queue({ EnablePartitioning: 'true' }), (here, name) =>
    here.send(name, 'm'),
  ),
  'a send to a topic': sendTo(
    topic,
    (here, name) => here.send(name, 'm'),
    (name) => subscription('s', name),
  ),
  'a send of a batch to a topic, in steps': sendTo(
    topic,
    (here, name) => here.sendBatch(name, many(STEPPED)),
    (name) => subscription('s', name),
  ),
  'a send to a session': async (here, there, name) => {
    expectStatus(await here.createQueue(name, { RequiresSession: 'true' }), 201);
    return {
      run: async () => codeOf(await here.send(name, 'm', { SessionId: 'a' })),
      see: async () => (await there.runtimeProperties(name)).active,
    };
  },
  'a send of a batch to a queue with duplicate detection': sendTo(
    queue({ RequiresDuplicateDetection: 'true' }),
    (here, name) => here.sendBatch(name, many(3)),
  ),
  'a send to a queue that forwards': sendTo(
    async (here, name) => {
      expectStatus(await here.createQueue(`${name}-target`), 201);
      expectStatus(await here.createQueue(name, { ForwardTo: `${name}-target` }), 201);
    },
    (here, name) => here.send(name, 'm'),
    (name) => `${name}-target`,
  ),
  'a send of a scheduled message': sendTo(queue(), (here, name) => here.send(name, 'm', LATER)),
  'a cancellation of a scheduled message': async (here, there, name) => {
    expectStatus(await here.createQueue(name), 201);
    const numbers = await here.schedule(name, [{ Body: 'm', BrokerProperties: LATER }]);
    return {
      run: async () => codeOf(await here.cancelScheduled(name, numbers)),
      see: () => messagesIn(there, name),
    };
  },
  'a completion': settle('complete'),
  'an abandonment': settle('abandon'),
  'a deferral': settle('defer'),
  'a dead-lettering': settle('deadLetter'),
  'a peek-lock receive': async (here, there, name) => {
    expectStatus(await here.createQueue(name), 201);
    expectStatus(await here.send(name, 'm'), 201);
    return {
      run: async () => codeOf(await here.request('POST', `${name}/messages/head?timeout=0`)),
      see: async () => (await there.peekLock(name))?.body,
    };
  },
  'a receive-and-delete': async (here, there, name) => {
    expectStatus(await here.createQueue(name), 201);
    expectStatus(await here.send(name, 'm'), 201);
    return {
      run: async () => codeOf(await here.request('DELETE', `${name}/messages/head?timeout=0`)),
      see: () => messagesIn(there, name),
    };
  },
  'a receive-and-delete of a deferred message': async (here, there, name) => {
    const [message] = await locked(here, name, 'm');
    assert.ok(message);
    await here.settle(name, [{ lockToken: message.broker.LockToken, outcome: 'defer' }]);
    const { SequenceNumber } = message.broker;
    return {
      run: async () =>
        codeOf(await here.receiveDeferredRaw(name, [SequenceNumber], 'receiveAndDelete')),
      see: () => messagesIn(there, name),
    };
  },
  'a transaction': async (here, there, name) => {
    const [message] = await locked(here, name, '1', '2');
    assert.ok(message);
    return {
      run: async () =>
        codeOf(await transact(here, [settling('complete', name, message), sending(name, 'new')])),
      see: () => messagesIn(there, name),
    };
  },
  'a transaction with an id': async (here, there, name) => {
    const [message] = await locked(here, name, '1', '2');
    assert.ok(message);
    const operations = [settling('complete', name, message), sending(name, 'new')];
    return {
      run: async () => codeOf(await transact(here, operations, name)),
      see: () => messagesIn(there, name),
    };
  },
  'a change of a session state': session((held) =>
    held.request('PUT', 'sessions/$state', { body: 'x'.repeat(2000) }),
  ),
  'a release of a session': session((held) => held.request('POST', 'sessions/$release')),
  'an acceptance of a session': async (here, there, name) => {
    expectStatus(await here.createQueue(name, { RequiresSession: 'true' }), 201);
    return {
      run: async () => codeOf(await acceptRaw(here, name, 'a')),
      see: async () => (await acceptRaw(there, name, 'a')).status,
    };
  },
  'a creation of a queue': management(
    async () => {},
    (here, name) => here.createQueue(name),
  ),
  'a change of a queue': management(queue(), (here, name) =>
    here.updateQueue(name, { LockDuration: 'PT17S' }),
  ),
  'a deletion of a queue': management(queue(), (here, name) => here.request('DELETE', name)),
  'a creation of a subscription': management(
    (here, name) => createTopic(here, name),
    (here, name) => here.putEntity(subscription('s', name), 'SubscriptionDescription', {}),
    (name) => subscription('s', name),
  ),
  'a creation of a rule': management(
    topic,
    (here, name) => putRule(here, subscription('s', name), 'r', { filter: EVERYTHING }),
    (name) => `${subscription('s', name)}/rules/r`,
  ),
  'a deletion of a rule': management(
    topic,
    (here, name) => here.request('DELETE', `${subscription('s', name)}/rules/$Default`),
    (name) => `${subscription('s', name)}/rules/$Default`,
  ),
  'a deletion of messages by an operator': async (here, there, name) => {
    expectStatus(await here.createQueue(name), 201);
    expectStatus(await here.sendBatch(name, many(3)), 201);
    return {
      run: async () => codeOf(await here.post(name, '$delete', { sequenceNumbers: [2] })),
      see: () => messagesIn(there, name),
    };
  },
  'a resubmission': async (here, there, name) => {
    const [message] = await locked(here, name, 'm');
    assert.ok(message);
    const lockToken = message.broker.LockToken;
    await here.settle(name, [{ lockToken, outcome: 'deadLetter' }]);
    const dead = `${name}/$deadletterqueue`;
    return {
      run: async () => codeOf(await here.post(dead, '$resubmit', {})),
      see: async () => [await messagesIn(there, name), await messagesIn(there, dead)],
    };
  },
  'a purge': async (here, there, name) => {
    expectStatus(await here.createQueue(name), 201);
    expectStatus(await here.sendBatch(name, many(80)), 201);
    return {
      run: async () => codeOf(await here.post(name, '$purge', {})),
      see: () => messagesIn(there, name),
    };
  },
};
