import { LambdaClient } from '@aws-sdk/client-lambda';
import { boundedClient, SOCKETS_MAX } from '../../shared/app/bounded-client.ts';
import { composeSweep } from '../../shared/app/compose-sweep.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { invokePush } from '../../shared/app/push/invoke-push.ts';
import { START_NONE, type StartWorker, storedWakes } from '../../shared/app/push/stored-wakes.ts';
import { hasPush, readNamespace, readPushFunction } from '../../shared/app/settings.ts';
import { startFunction } from '../http/start-function.ts';

/** Runs the sweep; an EventBridge rule invokes it on a schedule. Consumers that nobody has woken get workers. */
export const handler = startFunction(() => {
  const start = startsWorkers();
  return composeSweep({
    ...deployedSettings(process.env),
    namespace: readNamespace(process.env),
    consumers: (stores) => storedWakes(stores, start),
  });
});

function startsWorkers(): StartWorker {
  if (!hasPush(process.env)) return START_NONE;
  const client = new LambdaClient(boundedClient(SOCKETS_MAX));
  return invokePush(client, readPushFunction(process.env));
}
