import { type TestContext, test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { type FaultClient, type FaultRates, startFaults } from '../support/fault-client.ts';
import { LoadRandom, seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import { Bank, LOCK_MS } from './support/bank.ts';

/**
 * Transactions move money between accounts, each of which is a message. Workers crash and the database
 * fails; after every round the sum is unchanged. `DYNABUS_MONEY_ROUNDS` sets the number of rounds;
 * `DYNABUS_SEED` repeats a run's choices.
 */

const SEED = seedOfRun();
const ROUNDS = Number(process.env['DYNABUS_MONEY_ROUNDS'] || (isMore() ? 15 : 6));
const ACCOUNTS = 50;
const WORKERS = 8;
/** In rounds. Transaction ids are kept for a day, which is far longer. */
const RECONCILED_AFTER = 20;

const RATES: readonly [FaultRates, ...FaultRates[]] = [
  { requestLost: 0, answerLost: 0, throttled: 0, failed: 0, slow: 0.1 },
  { requestLost: 0.02, answerLost: 0.05, throttled: 0.02, failed: 0.02, slow: 0.05 },
  { requestLost: 0.1, answerLost: 0.15, throttled: 0.05, failed: 0.05, slow: 0.05 },
];

for (const usesIds of [true, false]) {
  const how = usesIds ? 'with a transaction id for each transfer' : 'without transaction ids';
  test(`transactions neither create nor lose money in ${ROUNDS} rounds, ${how} (seed ${SEED})`, async (t) => {
    const random = new LoadRandom(`${SEED}:${usesIds}`);
    const faults = startFaults();
    t.after(() => faults.client.destroy());
    const first = await startBroker(t, { client: faults.client });
    const second = await startBroker(t, { client: faults.client, beside: first });
    const options = { accounts: ACCOUNTS, name: 'bank', usesIds };
    const bank = new Bank([first, second], random, options);
    await bank.open();
    try {
      await trade(bank, random, faults, async () => {
        await Promise.all([first, second].map((broker) => broker.units(async () => {})));
        if (random.chance(0.3)) first.clock.advance({ ms: LOCK_MS });
      });
    } catch (error) {
      const last = bank.log.slice(-60).join('\n  ');
      throw new Error(`Seed ${SEED}: ${String(error)}\n  ${last}`, { cause: error });
    } finally {
      faults.stop();
      report(t, bank, faults);
    }
  });
}

async function trade(
  bank: Bank,
  random: LoadRandom,
  faults: FaultClient,
  between: () => Promise<void>,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    faults.start(`${SEED}:${round}`, random.pick(RATES));
    await Promise.all(Array.from({ length: WORKERS }, () => bank.transfer()));
    faults.stop();
    await between();
    await bank.audit();
    if (round % RECONCILED_AFTER === RECONCILED_AFTER - 1) await bank.reconcile();
  }
  await bank.reconcile();
}

function report(t: TestContext, bank: Bank, { counts }: FaultClient): void {
  t.diagnostic(JSON.stringify({ ...bank.tally, faults: counts }));
}
