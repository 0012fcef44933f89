import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { MemoryBudget } from '../../../shared/domain/budgets/memory-budget.ts';
import { WorkTurns } from '../../../shared/domain/turns/work-turns.ts';
import { turnsUntil } from '../../support/fake-peer.ts';
import { fakeEntity, findableEntities, startApp } from '../../support/http-fixture.ts';

/** Row 7: many concurrent batches of very small messages, which take more memory than bytes. */

const KB = 1024;
const MESSAGES = 400;
const BATCH = {
  headers: { 'content-type': 'application/vnd.microsoft.servicebus.json' },
  body: JSON.stringify(
    Array.from({ length: MESSAGES }, () => ({
      Body: '',
      BrokerProperties: { ScheduledEnqueueTimeUtc: '2027-01-01T00:00:00Z' },
    })),
  ),
};
const ONE_BATCH = MESSAGES * BUDGETS.weights.sentMessageBytes + 5 * BATCH.body.length;

/** An app whose broker does not end a send before `finish` is called. */
function slowBroker(changes: Parameters<typeof startApp>[0]) {
  const entities = findableEntities({ q: fakeEntity('q') });
  const { call, broker } = startApp({ entities, ...changes });
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun = 0;
  broker.send = async (_path, messages) => {
    begun++;
    await finished;
    return messages.map(() => ({ messageId: 'x' }));
  };
  return { call, finish: () => finish(), begun: () => begun };
}

const settled = async () => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

for (const path of ['/q/messages', '/q/messages/$schedule']) {
  test(`row 7: a batch to ${path} counts its messages, however short they are`, async () => {
    const memory = new MemoryBudget(3.9 * ONE_BATCH);
    const { call, finish, begun } = slowBroker({ memory });
    let answered = 0;
    const one = async () => {
      const answer = await call('POST', path, BATCH);
      answered++;
      return answer;
    };
    const answers = Array.from({ length: 5 }, one);
    // Three wait for the broker; two are refused.
    await turnsUntil(() => begun() === 3 && answered === 2);
    assert.equal(begun(), 3);
    assert.ok(memory.held >= 3 * MESSAGES * KB, `${memory.held} bytes are counted`);
    finish();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [201, 201, 201, 503, 503]);
    assert.equal(memory.held, 0);
  });

  test(`row 7: many concurrent batches to ${path} are not all parsed in one turn`, async () => {
    // Each read of the time is a whole turn later; the test starts the next turn.
    let now = 0;
    const later: (() => void)[] = [];
    const scheduler = {
      now: () => {
        now += BUDGETS.turnMs;
        return now;
      },
      soon: (work: () => void) => void later.push(work),
    };
    const { call, finish, begun } = slowBroker({ workTurns: new WorkTurns(scheduler) });
    finish();
    const answers = Array.from({ length: 5 }, () => call('POST', path, BATCH));
    for (let turns = 0; begun() < 5; turns++) {
      await settled();
      assert.ok(begun() <= (turns + 1) / 2, `${begun()} batches within ${turns + 1} turns`);
      for (const work of later.splice(0)) work();
    }
    for (const answer of answers) assert.equal((await answer).status, 201);
  });
}

test('row 7: settlements are parsed within few turns, however much other input is parsed', async () => {
  let now = 0;
  const workTurns = new WorkTurns({ now: () => now, soon: (work) => void setImmediate(work) });
  const { call } = startApp({ workTurns });
  let isOver = false;
  let others = 0;
  const keepReading = async (peer: object) => {
    while (!isOver) {
      await workTurns.next(peer);
      now += BUDGETS.turnMs;
      others++;
    }
  };
  for (let i = 0; i < 8; i++) void keepReading({});
  const lockToken = '00000000-0000-4000-8000-000000000001';
  const wrong = { outcome: 'complet', lockToken };
  const settlements = Array.from({ length: 100 }, () => ({ outcome: 'complete', lockToken }));
  const body = JSON.stringify({ settlements: [...settlements, wrong] });
  const response = await call('POST', '/q/messages/$settle', { body });
  isOver = true;
  assert.equal(response.status, 400);
  assert.ok(others <= 4 * 8, `${others} turns of others`);
});

test('row 7: settlements with many properties are not all parsed in one turn', async () => {
  // Each read of the time is a whole turn later.
  let now = 0;
  let turns = 0;
  const scheduler = {
    now: () => {
      now += BUDGETS.turnMs;
      return now;
    },
    soon: (work: () => void) => {
      turns++;
      setImmediate(work);
    },
  };
  const { call } = startApp({ workTurns: new WorkTurns(scheduler) });
  const lockToken = '00000000-0000-4000-8000-000000000001';
  const settlements = Array.from({ length: 100 }, () => ({ outcome: 'complete', lockToken }));
  const body = JSON.stringify({ settlements: [...settlements, { outcome: 'complet', lockToken }] });
  const response = await call('POST', '/q/messages/$settle', { body });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /settlements\[100\]/);
  assert.ok(turns >= 100, `${turns} turns`);
});
