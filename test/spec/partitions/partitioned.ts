import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type StartOptions, startBroker } from '../../support/start-broker.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/** Shared by the tests of partitioned entities: one queue `p`, and the partitions of its messages. */

export const PARTITIONS = 16;
export const PARTITIONED = { EnablePartitioning: 'true' } as const;

/** Starts a broker whose namespace has the partitioned queue `p`. */
export async function startPartitioned(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
  options: StartOptions = {},
): Promise<TestBroker> {
  const broker = await startBroker(t, options);
  expectStatus(await createPartitioned(broker, 'p', settings), 201);
  return broker;
}

/** Requests a partitioned queue; the elements of the description have a fixed order. */
export async function createPartitioned(
  broker: TestBroker,
  name: string,
  settings: Readonly<Record<string, string>> = {},
) {
  return await broker.createQueue(name, { ...settings, ...PARTITIONED });
}

/** The partition of a message: the top 16 of the 64 bits of its sequence number. */
export function partitionOf({ broker }: Received): number {
  return Math.floor(broker.SequenceNumber / 2 ** 48);
}

/** The number of a message within its partition: the lower 48 bits. */
export function numberInPartition({ broker }: Received): number {
  return broker.SequenceNumber % 2 ** 48;
}

export function byPartition(messages: readonly Received[]): ReadonlyMap<number, Received[]> {
  const groups = new Map<number, Received[]>();
  for (const message of messages) {
    const partition = partitionOf(message);
    groups.set(partition, [...(groups.get(partition) ?? []), message]);
  }
  return groups;
}

/** Peeks until it has all messages of a path, in the order of their sequence numbers. */
export async function peekAll(broker: TestBroker, path = 'p'): Promise<readonly Received[]> {
  const shown: Received[] = [];
  for (let from = 0n; ; ) {
    const some = await broker.peek(path, { from });
    if (some.length === 0) return shown;
    shown.push(...some);
    from = BigInt(some.at(-1)?.broker.SequenceNumber ?? 0) + 1n;
  }
}

/** Receives and deletes all messages of a path. */
export async function drain(broker: TestBroker, path = 'p', max = 100): Promise<Received[]> {
  const taken: Received[] = [];
  for (;;) {
    const some = await broker.receiveAndDeleteMany(path, max);
    assert.ok(some.length <= max);
    if (some.length === 0) return taken;
    taken.push(...some);
  }
}

export async function sendKeyed(
  broker: TestBroker,
  body: string,
  keys: Readonly<Record<string, unknown>> = {},
  path = 'p',
): Promise<void> {
  expectStatus(await broker.send(path, body, keys), 201);
}

/** Sends `count` messages without keys, which go to the partitions in turn; the bodies count from 0. */
export async function fillEach(broker: TestBroker, path = 'p', count = PARTITIONS): Promise<void> {
  for (let turn = 0; turn < count; turn++) await sendKeyed(broker, `${turn}`, {}, path);
}

/** Sends a batch without keys to each partition in turn, of as many messages as given; returns the number sent. */
export async function fillByBatches(broker: TestBroker, perPartition: number): Promise<number> {
  for (let turn = 0; turn < PARTITIONS; turn++) {
    const batch = Array.from({ length: perPartition }, (_, i) => ({ Body: `${turn}.${i}` }));
    expectStatus(await broker.sendBatch('p', batch), 201);
  }
  return perPartition * PARTITIONS;
}

let keys: Promise<readonly string[]> | undefined;

/** A partition key for each partition. They are the same for every entity, so they are looked for once. */
export function keysByPartition(broker: TestBroker): Promise<readonly string[]> {
  keys ??= findKeys(broker);
  return keys;
}

/** Finds keys by sending to a queue that is deleted again. */
async function findKeys(broker: TestBroker): Promise<readonly string[]> {
  expectStatus(await createPartitioned(broker, 'probe'), 201);
  const keys: string[] = [];
  for (let n = 0; new Set(Object.keys(keys)).size < PARTITIONS; n++) {
    const PartitionKey = `key-${n}`;
    await sendKeyed(broker, PartitionKey, { PartitionKey }, 'probe');
    const [message] = await broker.receiveAndDeleteMany('probe', 1);
    assert.ok(message);
    keys[partitionOf(message)] ??= PartitionKey;
  }
  expectStatus(await broker.request('DELETE', 'probe'), 200);
  return keys;
}
