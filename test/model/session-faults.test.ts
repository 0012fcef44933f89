import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { type FaultRates, startFaults } from '../support/fault-client.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { acceptNext } from '../support/test-session.ts';
import { SessionLedger } from './support/session-ledger.ts';
import { Holder, type Process, Sender } from './support/session-workers.ts';

/**
 * Senders and session receivers use two processes at once, over a database that fails, while locks expire.
 * No two receivers hold a session at the same time; and afterwards each message that was acknowledged and
 * not completed is found by accepting the next session until there is none. `DYNABUS_SEED` repeats the
 * choices; `DYNABUS_SESSION_FAULT_RUNS` sets the number of histories.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_SESSION_FAULT_RUNS'] || 4);
/** How many times as many histories until a lock was lost and an outcome unknown. */
const LONGER = 4;
const ONLY = process.env['DYNABUS_FAULT_HISTORY'];
const LOCK_SECONDS = 30;
const SENDERS = 3;
const HOLDERS = 8;
const TURNS = isMore() ? 8 : 4;
const VIOLATIONS_SHOWN = 20;

const NONE: FaultRates = { requestLost: 0, answerLost: 0, throttled: 0, failed: 0, slow: 0 };
/** History n uses entry n modulo the length, so a run of four histories uses all. */
const RATES: readonly FaultRates[] = [
  { ...NONE, slow: 0.1 },
  { requestLost: 0.01, answerLost: 0.02, throttled: 0.01, failed: 0.01, slow: 0.05 },
  { requestLost: 0.05, answerLost: 0.1, throttled: 0.05, failed: 0.02, slow: 0.05 },
  { ...NONE, answerLost: 0.3, failed: 0.1 },
];

test(`no two receivers hold one session, and every session with messages can be accepted, in ${RUNS} histories of failing processes (seed ${SEED})`, async (t) => {
  const healthy = await startBroker(t);
  const processes = [await startFailing(t, healthy), await startFailing(t, healthy)] as const;
  const tallies: Record<string, number> = {};
  const isSeen = (key: string) => (tallies[key] ?? 0) > 0;
  // A seed may draw none of these in the first histories.
  const areSeen = () => isSeen('lost') && isSeen('unknown');
  for (let number = 0; number < RUNS || (!areSeen() && number < LONGER * RUNS); number++) {
    if (ONLY !== undefined && Number(ONLY) !== number) continue;
    const ledger = await runHistory(healthy, processes, number);
    for (const [key, count] of Object.entries(ledger.tally)) {
      tallies[key] = (tallies[key] ?? 0) + count;
    }
  }
  t.diagnostic(JSON.stringify(tallies));
  assert.ok(isSeen('lost'), 'no lock was ever lost');
  assert.ok(isSeen('unknown'), 'no request ever ended with an unknown outcome');
});

async function startFailing(t: TestContext, healthy: TestBroker): Promise<Process> {
  const faults = startFaults();
  t.after(() => faults.client.destroy());
  return { broker: await startBroker(t, { beside: healthy, client: faults.client }), faults };
}

async function runHistory(
  healthy: TestBroker,
  processes: readonly [Process, Process],
  number: number,
): Promise<SessionLedger> {
  const seed = `${SEED}:${number}`;
  const queue = `q${number}`;
  const settings = {
    LockDuration: `PT${LOCK_SECONDS}S`,
    RequiresSession: 'true',
    MaxDeliveryCount: '1000',
  };
  expectStatus(await healthy.createQueue(queue, settings), 201);
  const ledger = new SessionLedger(healthy.clock);
  const rates = RATES[number % RATES.length] ?? NONE;
  processes.forEach(({ faults }, i) => {
    faults.start(`${seed}:${i}`, rates);
  });
  await work({ processes, queue, ledger, seed, clock: healthy.clock });
  for (const { faults, broker } of processes) {
    faults.stop();
    await broker.units(async () => {});
  }
  healthy.clock.advance({ seconds: LOCK_SECONDS });
  ledger.review(await drain(processes, queue));
  assert.deepEqual(
    ledger.violations.slice(0, VIOLATIONS_SHOWN),
    [],
    `history ${number} of seed ${SEED}`,
  );
  return ledger;
}

interface Fixture {
  readonly processes: readonly [Process, Process];
  readonly queue: string;
  readonly ledger: SessionLedger;
  readonly seed: string;
  readonly clock: TestBroker['clock'];
}

/** Runs all senders and receivers at once. Each sender has its own sessions, so their order is known. */
async function work({ processes, queue, ledger, seed, clock }: Fixture): Promise<void> {
  const sessionsOf = (sender: number) => ['', 'x', '/'].map((name) => `${sender}${name}`);
  const all = Array.from({ length: SENDERS }, (_, sender) => sessionsOf(sender)).flat();
  const workerOf = <T>(
    kind: new (process: Process, queue: string, ledger: SessionLedger, random: LoadRandom) => T,
    number: number,
  ) => {
    const process = processes[number % 2 === 0 ? 0 : 1];
    return new kind(process, queue, ledger, new LoadRandom(`${seed}:${kind.name}:${number}`));
  };
  const time = new LoadRandom(`${seed}:time`);
  await Promise.all([
    ...Array.from({ length: SENDERS }, async (_, number) => {
      const sender = workerOf(Sender, number);
      for (let turn = 0; turn < TURNS; turn++) await sender.turn(sessionsOf(number));
    }),
    ...Array.from({ length: HOLDERS }, async (_, number) => {
      const holder = workerOf(Holder, number);
      for (let turn = 0; turn < TURNS; turn++) {
        await holder.turn(all);
        if (time.chance(0.1)) {
          clock.advance({ seconds: time.pick([1, 1, 5, LOCK_SECONDS - 1, LOCK_SECONDS]) });
        }
      }
    }),
  ]);
}

/** Accepts the next session until there is none; returns the ids of all messages in them. */
async function drain([here, there]: readonly [Process, Process], queue: string): Promise<string[]> {
  const found: string[] = [];
  for (let turn = 0; ; turn++) {
    const { broker } = turn % 2 === 0 ? here : there;
    const session = await acceptNext(broker, queue);
    if (session === undefined) return found;
    const messages = await session.peekLockMany(1000);
    const numbers = messages.map(({ broker: b }) => b.SequenceNumber);
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
    found.push(...messages.map(({ broker: b }) => b.MessageId));
    assert.ok(messages.length > 0, `session ${session.id} was accepted but has no message`);
    const outcomes = await session.settle(
      messages.map(({ broker: b }) => ({ lockToken: b.LockToken, outcome: 'complete' })),
    );
    assert.ok(outcomes.every(({ settled }) => settled));
    await session.release();
  }
}
