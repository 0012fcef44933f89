import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { compose } from '../../lambdas/http/compose.ts';
import { LEASE_MS } from '../../shared/app/leases.ts';
import { type GatewayTasks, prepareTasks, ROOT_KEY } from '../interop/gateway/gateway-task.ts';
import { isMore } from '../runner/more.ts';
import { LoadRandom } from '../support/load-random.ts';
import { engineClient, TABLES } from '../support/start-broker.ts';
import { VirtualTime } from '../support/virtual-time.ts';
import { moveClockOddly } from './search/clock-values.ts';
import { printFinding } from './search/finding.ts';
import { KINDS } from './search/kinds.ts';
import { Search } from './search/search.ts';

/**
 * Attacks of all kinds on a gateway as it is deployed, with the heap of a small task. `npm test` runs
 * the same few seconds of them each time; `npm run search -- hostile` runs for half an hour.
 */

const MINUTE = 60_000;
const SMOKE = { seed: 'smoke', ms: isMore() ? 15_000 : 8000 };
const MINUTES = Number(process.env['DYNABUS_HOSTILE_MINUTES'] ?? 0);
const CASES = process.env['DYNABUS_HOSTILE_CASE']?.split(',').map(Number);
const SEED =
  process.env['DYNABUS_HOSTILE_SEED'] ??
  (MINUTES > 0 ? randomBytes(4).toString('hex') : SMOKE.seed);
/** Concurrent cases, so that some twenty connections attack; cases given by number all run together. */
const TOGETHER = Number(
  process.env['DYNABUS_HOSTILE_TOGETHER'] ?? CASES?.length ?? (MINUTES > 0 ? 3 : 6),
);
/** Only kinds of attack whose names contain this text. */
const KIND = process.env['DYNABUS_HOSTILE_KIND'] ?? '';
const CLOCK_MOVES = MINUTES > 0 ? 500 : 25;
const GROWTH_MAX = 1.1;
/**
 * Excluded from the check for growth: in the first minutes the SDK retains the first request of each socket
 * to the database. Compiled code is excluded too, because V8 produces more as long as it optimizes.
 */
const WARM_UP_SHARE = 0.2;
/** With fewer rounds, quarters cannot be compared. */
const ROUNDS_MIN = 50;

describe('hostile peers', () => {
  let tasks: GatewayTasks;
  before(async () => {
    tasks = await prepareTasks();
  });
  after(() => tasks.stop());

  test(`attacks neither end, stall nor fill a gateway, and do not affect other clients (DYNABUS_HOSTILE_SEED=${SEED})`, async () => {
    // Written at once, because the runner prints the output of a test only at its end.
    const say = (line: string) => process.stderr.write(`${line}\n`);
    say(`seed ${SEED}, ${KINDS.length} kinds of attack`);
    const sweeper = composeSweeper(tasks.program.namespace);
    const search = new Search(tasks.program, {
      seed: SEED,
      kinds: KINDS.filter(({ name }) => name.includes(KIND)),
      setting: KIND && `DYNABUS_HOSTILE_KIND='${KIND}' `,
      forMs: MINUTES > 0 ? MINUTES * MINUTE : SMOKE.ms,
      cases: CASES,
      together: TOGETHER,
      sayMs: MINUTES > 0 ? 4000 : 1500,
      holdMs: MINUTES > 0 ? 500 : 100,
      fillsMemories: MINUTES > 0,
      sweep: () => sweeper.sweep(),
      say,
    });
    const { findings, cases, heaps, honestMessages, honestSlowestMs } = await search.run();
    await sweeper.close();
    say(
      `${cases} cases; ${honestMessages} honest messages, the slowest ${Math.round(honestSlowestMs)} ms`,
    );
    say(`heap after collection, MB: ${sampled(heaps).join(' ')}`);
    assert.ok(findings.length === 0, `\n${findings.map(printFinding).join('\n')}`);
    if (heaps.length < ROUNDS_MIN) return;
    const warm = heaps.slice(heaps.length * WARM_UP_SHARE);
    const quarter = Math.floor(warm.length / 4);
    const [first, last] = [median(warm.slice(0, quarter)), median(warm.slice(-quarter))];
    assert.ok(last <= first * GROWTH_MAX, `growth: from ${first} MB to ${last} MB`);
  });

  test(`odd values for the clock of the local server are refused or harmless (DYNABUS_HOSTILE_SEED=${SEED})`, async () => {
    assert.deepEqual(await moveClockOddly(new LoadRandom(`${SEED}/clock`), CLOCK_MOVES), []);
  });
});

/** The sweep, which a function runs in a deployment. */
function composeSweeper(namespace: string) {
  const client = engineClient();
  const composition = compose({
    client,
    tables: TABLES,
    namespace,
    clock: { now: () => Date.now() },
    random: { bytes: (count) => new Uint8Array(randomBytes(count)) },
    rootKey: ROOT_KEY,
    leaseMs: LEASE_MS.deployed,
    scheduler: new VirtualTime(),
    receiveWaitMsMax: 0,
  });
  return {
    sweep: () => composition.sweep(),
    close: async () => {
      await composition.close();
      client.destroy();
    },
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function sampled(values: readonly number[]): readonly number[] {
  const step = Math.ceil(values.length / 40);
  return values.filter((_, place) => place % step === 0);
}
