import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DeliveryState } from '../../amqp/wire/states.ts';
import { type LostAnswerClient, startLostAnswers } from '../support/lost-answer-client.ts';
import { dataMessage, RawSession, targetOf } from '../support/raw-session.ts';
import { FEW_ITEMS } from '../support/small-limits.ts';
import { startBroker } from '../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../support/test-broker.ts';
import { OK, OPERATIONS, type Prepare } from './changing-operations.ts';

/**
 * Row 18: a write is carried out, its answer is lost, and the requests after it are throttled. A client sends
 * again after "server busy", and gives up after a lost lock: so it gets either error only if nothing was
 * changed.
 */

const UNKNOWN = 'ServiceTimeout';
const BUSY = 'com.microsoft:server-busy';
const TIMEOUT = 'com.microsoft:timeout';

interface Processes {
  readonly here: TestBroker;
  readonly there: TestBroker;
  readonly faults: LostAnswerClient;
}

async function start(t: TestContext): Promise<Processes> {
  const faults = startLostAnswers();
  t.after(() => faults.client.destroy());
  const here = await startBroker(t, { client: faults.client, limits: FEW_ITEMS });
  const there = await startBroker(t, { beside: here, limits: FEW_ITEMS });
  return { here, there, faults };
}

/** The test loses these many first and last writes, one at a time: those between are similar payloads. */
const FIRST = 3;
const LAST = 7;

/** Loses the writes one at a time; returns the answers that contradict what was stored. */
async function loseEach({ here, there, faults }: Processes, prepare: Prepare): Promise<string[]> {
  const untouched = await prepare(here, there, 'untouched');
  // Read from another entity of the same kind, because reading may change it.
  const before = JSON.stringify(await untouched.see());
  const counted = await prepare(here, there, 'counted');
  await here.units(async () => {});
  faults.count();
  assert.equal(await counted.run(), OK);
  const writes = faults.heal();
  const wrong: string[] = [];
  for (let write = 1; write <= writes; write++) {
    if (write > FIRST && write <= writes - LAST) continue;
    for (const throttled of ['its retries', 'everything'] as const) {
      const { run, see } = await prepare(here, there, `${throttled.slice(0, 3)}${write}`);
      await here.units(async () => {});
      faults.loseWrite(write, throttled);
      const said = await run();
      await here.units(async () => {});
      faults.heal();
      const isChanged = JSON.stringify(await see()) !== before;
      if (said === UNKNOWN || (said === OK) === isChanged) continue;
      wrong.push(`write ${write}, ${throttled}: ${said}, ${isChanged ? 'done' : 'not done'}`);
    }
  }
  return wrong;
}

for (const [what, prepare] of Object.entries(OPERATIONS)) {
  test(`row 18: ${what} that was carried out, but whose answer was lost, is not refused`, async (t) => {
    assert.deepEqual(await loseEach(await start(t), prepare), []);
  });

  test(`row 18: ${what} that was not carried out because the database is busy is refused as busy`, async (t) => {
    const { here, there, faults } = await start(t);
    const { run } = await prepare(here, there, 'q');
    await here.units(async () => {});
    faults.throttle();
    const said = await run();
    faults.heal();
    assert.equal(said, 'ServiceBusy');
  });
}

test('row 18: over AMQP an unknown outcome is a timeout, and "server busy" means that nothing was done', async (t) => {
  const { here, there, faults } = await start(t);
  expectStatus(await here.createQueue('q'), 201);
  const session = RawSession.root(Number(new URL(here.api.url).port));
  t.after(() => session.raw.destroy());
  const sender = await session.sender(targetOf('q'));
  const conditionOf = (state: DeliveryState | undefined) =>
    state?.kind === 'rejected' ? state.error?.condition : state?.kind;

  faults.throttle();
  assert.equal(conditionOf(await session.send(sender, dataMessage('busy'))), BUSY);
  faults.heal();
  // The first write takes a sequence number, the second one stores the message.
  faults.loseWrite(2, 'everything');
  assert.equal(conditionOf(await session.send(sender, dataMessage('m'))), TIMEOUT);
  faults.heal();
  assert.deepEqual(
    (await there.peek('q')).map(({ body }) => body),
    ['m'],
  );

  assert.equal(conditionOf(await session.send(sender, dataMessage('other'))), 'accepted');
  const [one, two] = [await session.lockOne('q'), await session.lockOne('q')];
  faults.throttle();
  assert.equal(conditionOf((await session.settle(two, { kind: 'accepted' })).state), BUSY);
  faults.heal();
  faults.loseWrite(1, 'everything');
  assert.equal(conditionOf((await session.settle(one, { kind: 'accepted' })).state), TIMEOUT);
  faults.heal();
  assert.deepEqual(
    (await there.peek('q')).map(({ body }) => body),
    ['other'],
  );
});
