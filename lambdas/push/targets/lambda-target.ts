import { InvokeCommand, LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';
import type { Clock } from '../../../shared/domain/clock.ts';
import { CONSUMER_LIMITS } from '../../../shared/domain/consumers/consumer.ts';
import { counted } from '../../../shared/domain/fault-words.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { SECOND_MS } from '../../../shared/domain/units.ts';
import type { Batch, Targets } from '../../../shared/push/ports.ts';
import type { EventOrigin } from '../event/record.ts';
import { replyOfFault } from './lambda-faults.ts';
import { eventTargets, type RawReply } from './print-and-call.ts';

/** How long a connection may take. Waiting for a free one counts, too. */
const CONNECT_MS = 3 * SECOND_MS;
/** Silence after which a connection ends by itself, above all timeouts of calls: a call ends by its own. */
const SILENCE_MS = CONSUMER_LIMITS.timeoutMsMax + 30 * SECOND_MS;
/** An idle connection is closed before Lambda may close it: a call over a closed one counts as failed. */
const IDLE_MS = 10 * SECOND_MS;
/** Bytes of the error of a function that are read. */
const ERROR_BYTES_MAX = 16 * 1024;

/** What calls of functions need. */
export interface LambdaTargetOptions {
  readonly client: LambdaClient;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly origin: EventOrigin;
}

/**
 * A client that calls functions: once each, over as many connections as a consumer may have calls under way. `config`
 * holds the region, and in tests an endpoint and credentials.
 */
export function lambdaTargetClient(config: LambdaClientConfig): LambdaClient {
  const agent = {
    keepAlive: true,
    maxSockets: CONSUMER_LIMITS.maxConcurrencyMax,
    timeout: IDLE_MS,
  };
  return new LambdaClient({
    ...config,
    // A second attempt would run the function twice, and its delivery would count once.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
}

/** Targets that are Lambda functions. */
export function lambdaTargets({ client, scheduler, clock, origin }: LambdaTargetOptions): Targets {
  return eventTargets({ origin, clock }, async ({ consumer }, event) => {
    const ending = new AbortController();
    const timer = scheduler.after(consumer.timeoutMs, () => ending.abort());
    try {
      return await invoke(client, consumer.target, event, ending.signal);
    } catch (error) {
      if (ending.signal.aborted) return timedOut(consumer);
      return replyOfFault(error);
    } finally {
      timer.cancel();
    }
  });
}

async function invoke(
  client: LambdaClient,
  target: string,
  event: string,
  abortSignal: AbortSignal,
): Promise<RawReply> {
  const command = new InvokeCommand({
    FunctionName: target,
    InvocationType: 'RequestResponse',
    Payload: event,
  });
  const { FunctionError, Payload } = await client.send(command, { abortSignal });
  // The SDK has null for an empty answer, whatever its types say.
  const bytes = Payload ?? new Uint8Array();
  if (FunctionError === undefined) return { kind: 'answer', bytes };
  return { kind: 'failed', error: errorOf(bytes) };
}

function timedOut({ timeoutMs }: Batch['consumer']): RawReply {
  return {
    kind: 'failed',
    error: `The function did not answer within ${counted(timeoutMs / SECOND_MS, 'second')}.`,
  };
}

/** The error of a function: `{"errorType": …, "errorMessage": …}`, or whatever it is. */
function errorOf(payload: Uint8Array): string {
  const text = Buffer.from(payload.subarray(0, ERROR_BYTES_MAX)).toString();
  try {
    const { errorType, errorMessage } = JSON.parse(text);
    const parts = [errorType, errorMessage].filter((part) => typeof part === 'string' && part);
    if (parts.length > 0) return `The function failed: ${parts.join(': ')}`;
  } catch {
    // Cut off, or no JSON.
  }
  return `The function failed: ${text}`;
}
