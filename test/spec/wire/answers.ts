import {
  type BatchMessage,
  expectStatus,
  type Received,
  type TestBroker,
} from '../../support/test-broker.ts';

/** Helpers for tests of response sizes: filling an entity, and emptying it response by response. */

export const KB = 1024;
/** Both ways to receive. */
export const MODES = ['peekLock', 'receiveAndDelete'] as const;

/** Receives the messages that fit into one response. */
export type Take = (broker: TestBroker) => Promise<readonly Received[]>;

/** Receives up to 1,000 messages of an entity. */
export const takeFrom = (path: string, mode: (typeof MODES)[number]): Take =>
  mode === 'peekLock'
    ? (broker) => broker.peekLockMany(path, 1000)
    : (broker) => broker.receiveAndDeleteMany(path, 1000);

/** Receives until nothing is left; returns the ids in the order of receipt. */
export async function drain(broker: TestBroker, take: Take): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const messages = await take(broker);
    if (messages.length === 0) return ids;
    ids.push(...messages.map((message) => message.broker.MessageId));
  }
}

/** Sends messages with their own ids, in batches of `perBatch`. */
export async function fill(
  broker: TestBroker,
  path: string,
  messages: readonly BatchMessage[],
  perBatch: number,
): Promise<readonly string[]> {
  const named = messages.map((message, i) => ({
    ...message,
    BrokerProperties: { MessageId: `m${i}`, ...message.BrokerProperties },
  }));
  for (let i = 0; i < named.length; i += perBatch) {
    expectStatus(await broker.sendBatch(path, named.slice(i, i + perBatch)), 201);
  }
  return named.map((message) => message.BrokerProperties.MessageId);
}

/** Creates `count` messages, each from its index. */
export const times = (count: number, make: (i: number) => BatchMessage): readonly BatchMessage[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Short names and values that print long. */
export const manyProperties = Object.fromEntries(
  Array.from({ length: 160 }, (_, i) => [
    String.fromCharCode(1 + (i % 31), 40 + (i % 80)),
    i % 2 === 0 ? { $bytes: '' } : { $char: '\u0001' },
  ]),
);
