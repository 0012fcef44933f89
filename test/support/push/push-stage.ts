import type { TestContext } from 'node:test';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { createDynamoClient } from '../../../local/engine/dynamo-client.ts';
import { ENGINE_REGION } from '../../../local/engine/engine-address.ts';
import { ensureStream } from '../../../local/tables.ts';
import { invokePush } from '../../../shared/app/push/invoke-push.ts';
import { storedWakes } from '../../../shared/app/push/stored-wakes.ts';
import { VARIABLES } from '../../../shared/app/variables.ts';
import { ANY_TARGET, putConsumer } from '../consumers.ts';
import type { Json } from '../json-management.ts';
import { engineClient, engineOfTests, startBroker, TABLES, tablesExist } from '../start-broker.ts';
import { expectStatus, type TestBroker } from '../test-broker.ts';
import { type FunctionEnvironment, loadedFunction } from './bundled-functions.ts';
import { EventSourceMapping } from './event-source-mapping.ts';
import { LambdaService } from './lambda-service.ts';
import { StageTime } from './stage-time.ts';
import { TargetFunction } from './target-function.ts';
import { startUnitRelay, type UnitRelay } from './unit-relay.ts';

/** The names of the functions of a stage. */
export const PUSH_FUNCTION = 'stage-push';
export const WAKE_FUNCTION = 'stage-wake';

/** Who asks the database. */
export type Asking = 'broker' | 'wake' | 'push';

/** A deployed namespace with consumers: its functions run from their bundles, by real time that a test moves ahead. */
export interface PushStage {
  readonly broker: TestBroker;
  readonly lambda: LambdaService;
  readonly mapping: EventSourceMapping;
  /** What each part asks the database. */
  readonly relays: Readonly<Record<Asking, UnitRelay>>;
  /** The clock of the namespace, and the time of its functions. */
  readonly time: StageTime;
  /** Moves time ahead. */
  readonly pass: (ms: number) => Promise<void>;
  /** Resolves when the stream brings nothing more and no function runs. */
  readonly settled: () => Promise<void>;
  /** The environment of the function that pushes, or wakes. */
  readonly environment: (of: 'wake' | 'push') => FunctionEnvironment;
}

/** Starts a namespace with everything that a deployment has to push messages. */
export async function startPushStage(t: TestContext): Promise<PushStage> {
  await tablesExist();
  const { url, accessKey } = engineOfTests();
  const tables = engineClient();
  await ensureStream(tables, TABLES);
  tables.destroy();
  const time = new StageTime();
  t.after(() => time.stop());
  const lambda = await LambdaService.start(t, time.monotonic);
  const relays = {
    broker: await startUnitRelay(url),
    wake: await startUnitRelay(url),
    push: await startUnitRelay(url),
  };
  const credentials = { accessKeyId: accessKey, secretAccessKey: 'local' };
  const starter = new LambdaClient({ region: ENGINE_REGION, endpoint: lambda.url, credentials });
  const client = createDynamoClient(relays.broker.url.replace('//', `//${accessKey}@`));
  const broker = await startBroker(t, {
    client,
    clock: time,
    push: ANY_TARGET,
    // Its sweep wakes consumers, as the function of the sweep does.
    consumers: (stores) => storedWakes(stores, invokePush(starter, PUSH_FUNCTION)),
  });
  t.after(() => {
    starter.destroy();
    client.destroy();
    for (const relay of Object.values(relays)) relay.close();
  });
  const environment = (of: 'wake' | 'push') => ({
    [VARIABLES.entitiesTable]: TABLES.entities,
    [VARIABLES.messagesTable]: TABLES.messages,
    [VARIABLES.namespace]: broker.namespace,
    [VARIABLES.tier]: 'Standard',
    [VARIABLES.pushFunction]: PUSH_FUNCTION,
    AWS_REGION: ENGINE_REGION,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    AWS_ENDPOINT_URL_DYNAMODB: relays[of].url,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
  });
  lambda.register(PUSH_FUNCTION, loadedFunction('push', environment('push'), time));
  lambda.register(WAKE_FUNCTION, loadedFunction('wake', environment('wake'), time));
  const mapping = await EventSourceMapping.start(t, TABLES.messages, (event) =>
    lambda.invoke(WAKE_FUNCTION, event),
  );
  const isBusy = () => Object.values(relays).some((relay) => relay.isBusy());
  const pass = (ms: number) => time.pass(ms, isBusy);
  const state = () => `${lambda.invocations.length} ${mapping.matched} ${mapping.ignored}`;
  const settled = async () => {
    for (let before = ''; before !== state(); ) {
      await broker.idle();
      await lambda.until('all invocations end', () => lambda.isIdle);
      before = state();
      await mapping.caughtUp();
    }
  };
  return { broker, lambda, mapping, relays, environment, time, pass, settled };
}

/** A stage with a queue, its consumer and the target of that. */
export interface PushedStage extends PushStage {
  readonly target: TargetFunction;
}

/** Starts what messages reach: a stage with a queue `q`, its consumer `c`, and the target of that. */
export async function startPushed(
  t: TestContext,
  { queue = {}, consumer = {} }: Settings = {},
): Promise<PushedStage> {
  const stage = await startPushStage(t);
  const { broker, lambda } = stage;
  const target = new TargetFunction(lambda);
  expectStatus(await broker.createQueue('q', queue), 201);
  expectStatus(await putConsumer(broker, 'q/consumers/c', consumer), 201);
  // On a busy machine the stream tells of it after a while.
  await lambda.until('the new consumer is looked at', () => lambda.of(PUSH_FUNCTION).length > 0);
  await stage.settled();
  return { ...stage, target };
}

interface Settings {
  /** By their wire names. */
  readonly queue?: Record<string, string>;
  readonly consumer?: Json;
}
