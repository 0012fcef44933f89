import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';

/**
 * Receivers of many processes at one queue. A receive may only answer "empty" if it read the queue and found
 * no message that it could deliver. A receive that lost a race to another process has not found that.
 */

const PROCESSES = 8;
const MESSAGES = isMore() ? 1000 : 250;
const BODY = 'x'.repeat(200);

async function startProcesses(t: TestContext, count: number): Promise<readonly TestBroker[]> {
  const first = await startBroker(t);
  const others = Array.from({ length: count }, () => startBroker(t, { beside: first }));
  return await Promise.all(others);
}

/** Sends messages one by one, so that each lies in a block of its own. */
async function fill(brokers: readonly TestBroker[], path: string, count: number): Promise<void> {
  let left = count;
  const send = async (broker: TestBroker) => {
    while (left-- > 0) expectStatus(await broker.send(path, BODY), 201);
  };
  await Promise.all(brokers.flatMap((broker) => [send(broker), send(broker)]));
}

interface Tally {
  readonly claimed: Map<number, number>;
  emptyTooSoon: number;
  /** Receives under way, each of which may have claimed a message that it has not returned yet. */
  underWay: number;
  busy: number;
  calls: number;
}

/** Receives one at a time and completes, until the queue is empty. */
async function drain(broker: TestBroker, tally: Tally): Promise<void> {
  for (;;) {
    tally.calls++;
    tally.underWay++;
    const answer = await broker.request('POST', 'q/messages/head?timeout=0');
    tally.underWay--;
    if (answer.status === 204) {
      if (tally.claimed.size === MESSAGES) return;
      if (MESSAGES - tally.claimed.size > tally.underWay) tally.emptyTooSoon++;
      continue;
    }
    if (answer.status === 503) {
      assert.equal(answer.headers.get('retry-after'), '1');
      tally.busy++;
      continue;
    }
    expectStatus(answer, 201);
    const { SequenceNumber } = JSON.parse(answer.headers.get('brokerproperties') ?? '{}');
    tally.claimed.set(SequenceNumber, (tally.claimed.get(SequenceNumber) ?? 0) + 1);
    const location = answer.headers.get('location') ?? '';
    expectStatus(await broker.request('DELETE', location), 200);
  }
}

type Units = Awaited<ReturnType<TestBroker['units']>>;

/** The units that all processes together consume during the work. */
async function unitsOf(
  brokers: readonly TestBroker[],
  work: () => Promise<unknown>,
): Promise<Pick<Units, 'read' | 'write'>> {
  let measured = work;
  const units: Units[] = [];
  for (const broker of brokers) {
    const inner = measured;
    measured = async () => {
      units.push(await broker.units(inner));
    };
  }
  await measured();
  const sum = (of: 'read' | 'write') => units.reduce((total, one) => total + one[of], 0);
  return { read: sum('read'), write: sum('write') };
}

test(`eight processes drain a queue of ${MESSAGES} messages without an early empty answer, for at most 2.5 write and 6 read units a message`, async (t) => {
  const brokers = await startProcesses(t, PROCESSES);
  const [first] = brokers;
  assert.ok(first);
  expectStatus(await first.createQueue('q', { LockDuration: 'PT5M' }), 201);
  await fill(brokers, 'q', MESSAGES);
  const tally: Tally = { claimed: new Map(), emptyTooSoon: 0, underWay: 0, busy: 0, calls: 0 };
  const { read, write } = await unitsOf(brokers, () =>
    Promise.all(brokers.map((broker) => drain(broker, tally))),
  );
  t.diagnostic(
    `${write / MESSAGES} write and ${read / MESSAGES} read units a message, ${tally.busy} of ${tally.calls} busy, ${tally.emptyTooSoon} empty`,
  );
  assert.equal(tally.emptyTooSoon, 0);
  assert.equal(tally.claimed.size, MESSAGES);
  assert.ok([...tally.claimed.values()].every((times) => times === 1));
  assert.ok(tally.busy <= tally.calls / 100, `${tally.busy} of ${tally.calls} calls`);
  assert.ok(write / MESSAGES <= 2.5, `${write} write units`);
  assert.ok(read / MESSAGES <= 6, `${read} read units`);
});

test('a single receiver gets the messages in the order of their sequence numbers', async (t) => {
  const [broker] = await startProcesses(t, 1);
  assert.ok(broker);
  expectStatus(await broker.createQueue('q'), 201);
  await fill([broker], 'q', 40);
  const numbers: unknown[] = [];
  for (let i = 0; i < 40; i++) {
    numbers.push((await broker.receiveAndDelete('q'))?.broker.SequenceNumber);
  }
  assert.deepEqual(
    numbers,
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
});
