import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { ConsumerReference } from '../../push/ports.ts';
import type { StartWorker } from './stored-wakes.ts';

/** The event of the function that pushes. */
export interface PushEvent {
  readonly consumer: ConsumerReference;
}

/** Starts workers as invocations of the function that pushes, for which nobody waits. Throws what the client throws. */
export function invokePush(client: LambdaClient, functionName: string): StartWorker {
  return async (consumer) => {
    const event: PushEvent = { consumer };
    await client.send(
      new InvokeCommand({
        FunctionName: functionName,
        InvocationType: 'Event',
        Payload: JSON.stringify(event),
      }),
    );
  };
}
