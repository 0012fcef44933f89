import { LambdaClient } from '@aws-sdk/client-lambda';
import type { Context } from 'aws-lambda';
import { boundedClient, SOCKETS_MAX } from '../../shared/app/bounded-client.ts';
import { composeDependencies } from '../../shared/app/compose-dependencies.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { composeWorker } from '../../shared/app/push/compose-worker.ts';
import { invokePush, type PushEvent } from '../../shared/app/push/invoke-push.ts';
import { reportTargetFault } from '../../shared/app/push/report-target-fault.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { reportBackgroundFault } from '../../shared/app/report-fault.ts';
import { readNamespace, readTier } from '../../shared/app/settings.ts';
import { MANY_AT_ONCE } from '../../shared/broker/group-commit/create-grouped-broker.ts';
import { MB, SECOND_MS } from '../../shared/domain/units.ts';
import { PUSH } from '../../shared/push/push-limits.ts';
import { runWorker } from '../../shared/push/worker.ts';
import type { WorkerSettings } from '../../shared/push/worker-dependencies.ts';
import { startFunction } from '../http/start-function.ts';
import { EVENT_CLAIM_BYTES } from './event/print-event.ts';
import { lambdaTargetClient, lambdaTargets } from './targets/lambda-target.ts';

/** Waiting costs little in a small function, and less than to start another one. */
const SETTINGS: WorkerSettings = {
  lingerMs: 0,
  waitMsMax: 30 * SECOND_MS,
  pauseMsMax: PUSH.unreachableMs.most,
  graceMs: 0,
  heldBytesMax: 32 * MB,
  claim: { form: 'batch', bytes: EVENT_CLAIM_BYTES, oneMayExceed: true },
};
/** What is left of the time of an invocation for its last writes, ms. */
const REST_MS = 10 * SECOND_MS;

/**
 * Pushes the messages of one consumer to its target, until none is left or its time is over; then it starts another
 * invocation. Invoked by itself, by the function that reads the stream, and by the sweep, each asynchronously: Lambda
 * invokes it again after an error.
 */
export const handler = startFunction(() => {
  // The worker looks again itself before it ends.
  const { consumers: _, ...settings } = deployedSettings(process.env);
  const namespace = readNamespace(process.env);
  const tier = readTier(process.env);
  const dependencies = composeDependencies(
    { ...settings, namespace, tier, rootKey: '' },
    MANY_AT_ONCE,
  );
  const starter = new LambdaClient(boundedClient(SOCKETS_MAX));
  const client = lambdaTargetClient({});
  return async ({ consumer }: PushEvent, context: Context) => {
    const [, , , region = '', account = ''] = context.invokedFunctionArn.split(':');
    const worker = composeWorker(dependencies, {
      targets: lambdaTargets({
        client,
        scheduler: realScheduler,
        clock: settings.clock,
        origin: { region, account },
      }),
      settings: SETTINGS,
      startAnother: invokePush(starter, context.functionName),
      tellFault: reportTargetFault,
      reportFault: reportBackgroundFault,
    });
    const endsAt = realScheduler.now() + context.getRemainingTimeInMillis() - REST_MS;
    const time = { endsAt, signal: new AbortController().signal };
    const end = await runWorker(worker, consumer, time);
    await dependencies.background.settled();
    if (end === 'failed') throw new Error(`A worker of '${consumer.entityKey}' failed.`);
  };
});
