import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../runner/more.ts';
import { seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';
import { TopicModel } from './support/topic-model.ts';
import { lookAtAll, TopicFixture, topicSteps } from './support/topic-steps.ts';

/**
 * Random operations on a topic with filters and forwarding, whose last destination is disabled and enabled
 * meanwhile, compared with a small model: no copy is lost and none is duplicated.
 * `DYNABUS_SEED`, `DYNABUS_MODEL_PATH` and `DYNABUS_MODEL_REPLAY` repeat a run or a failure, as in
 * lifecycle.test.ts; `DYNABUS_TOPIC_RUNS` sets the number of histories.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_TOPIC_RUNS'] || (isMore() ? 20 : 5));
const PATH = process.env['DYNABUS_MODEL_PATH'];
const REPLAY = process.env['DYNABUS_MODEL_REPLAY'];
const STEPS_MAX = 25;

test(`each copy of a message is where the model predicts, in ${RUNS} histories of a topic (seed ${SEED})`, async (t: TestContext) => {
  const broker = await startBroker(t);
  const commands = fc.commands(topicSteps, {
    maxCommands: STEPS_MAX,
    size: 'max',
    ...(REPLAY === undefined ? {} : { replayPath: REPLAY }),
  });
  let topics = 0;
  const property = fc.asyncProperty(commands, (steps) => runHistory(broker, `t${topics++}`, steps));
  await fc.assert(property, {
    seed: Number.parseInt(SEED, 16) | 0,
    numRuns: RUNS,
    includeErrorInReport: true,
    ...(PATH === undefined ? {} : { path: PATH }),
  });
});

async function runHistory(
  broker: TestBroker,
  topic: string,
  steps: Iterable<fc.AsyncCommand<TopicModel, TopicFixture>>,
): Promise<void> {
  const model = new TopicModel(broker.clock.now());
  const fixture = new TopicFixture(broker, topic);
  try {
    await fixture.create();
    await fc.asyncModelRun(() => ({ model, real: fixture }), steps);
    await fixture.update('Active');
    model.update('Active');
    await lookAtAll(model, fixture);
    await broker.sweep();
    await lookAtAll(model, fixture);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    throw new Error(`${fault}\n  after\n  ${model.history.join('\n  ')}`, { cause: error });
  }
}
