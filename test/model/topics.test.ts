import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { seedOfRun } from '../support/load-random.ts';
import { startBroker } from '../support/start-broker.ts';
import type { TestBroker } from '../support/test-broker.ts';
import { TopicModel } from './support/topic-model.ts';
import { lookAtAll, TopicScene, topicSteps } from './support/topic-steps.ts';

/**
 * Messages on their way from a topic through filters and forwards, whose last destination is
 * disabled and enabled in between, against a tiny model: nothing is lost, nothing comes twice.
 * `DYNABUS_SEED`, `DYNABUS_MODEL_PATH` and `DYNABUS_MODEL_REPLAY` repeat a run or a failure, as in
 * lifecycle.test.ts; `DYNABUS_TOPIC_RUNS` searches longer.
 */

const SEED = seedOfRun();
const RUNS = Number(process.env['DYNABUS_TOPIC_RUNS'] || 20);
const PATH = process.env['DYNABUS_MODEL_PATH'];
const REPLAY = process.env['DYNABUS_MODEL_REPLAY'];
const STEPS_MAX = 25;

test(`copies are where the model says, in ${RUNS} histories of a topic (seed ${SEED})`, async (t: TestContext) => {
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
  steps: Iterable<fc.AsyncCommand<TopicModel, TopicScene>>,
): Promise<void> {
  const model = new TopicModel(broker.clock.now());
  const scene = new TopicScene(broker, topic);
  try {
    await scene.create();
    await fc.asyncModelRun(() => ({ model, real: scene }), steps);
    await scene.update('Active');
    model.update('Active');
    await lookAtAll(model, scene);
    await broker.sweep();
    await lookAtAll(model, scene);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    throw new Error(`${fault}\n  after\n  ${model.history.join('\n  ')}`, { cause: error });
  }
}
