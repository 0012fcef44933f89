import { setTimeout as pause } from 'node:timers/promises';
import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { LoadRandom } from './load-random.ts';
import { engineClient } from './start-broker.ts';

/** What can happen to a request. */
export type Fault = 'requestLost' | 'answerLost' | 'throttled' | 'failed' | 'slow';

/** How often each happens, as a share of all requests. */
export type FaultRates = Readonly<Record<Fault, number>>;

/** A client of DynamoDB whose requests go wrong, the same ones for the same seed and order. */
export interface FaultClient {
  readonly client: DynamoDBClient;
  /** Requests go wrong from now on, by a new seed. */
  start(seed: string, rates: FaultRates): void;
  /** Everything goes well from now on. */
  stop(): void;
  /** How often each fault has happened so far. */
  readonly counts: Readonly<Record<Fault, number>>;
  /** How often something was done and its answer was lost. */
  readonly lostAnswers: number;
}

/** Few, so that now and then they are used up and the failure comes out. */
const ATTEMPTS_MAX = 2;
/** A slow request is overtaken by those that start within this time. */
const SLOW_MS_MAX = 8;
/** The ways in which a connection breaks, as Node names them. */
const CONNECTION_CODES = ['ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ECONNREFUSED'] as const;

/**
 * Puts faults between the broker and the engine: below the retries of the SDK, where a network
 * would have them. To be destroyed by whoever asked for it.
 */
export function startFaults(): FaultClient {
  const counts = { requestLost: 0, answerLost: 0, throttled: 0, failed: 0, slow: 0 };
  let faults: { readonly random: LoadRandom; readonly rates: FaultRates } | undefined;
  const client = engineClient();
  retryAtOnce(client);

  client.middlewareStack.add(
    (next) => async (args) => {
      const fault = faults && draw(faults.random, faults.rates);
      if (fault === undefined || faults === undefined) return await next(args);
      const { random } = faults;
      counts[fault]++;
      if (fault === 'throttled') throw throttled();
      if (fault === 'requestLost') throw connectionBroken(random);
      if (fault === 'slow') await pause(random.between(1, SLOW_MS_MAX));
      const answer = next(args);
      if (fault === 'slow') return await answer;
      // Whatever it was, a refusal too, it does not arrive.
      await Promise.allSettled([answer]);
      throw fault === 'failed' ? failed() : connectionBroken(random);
    },
    // Inside of the retries, outside of signing and sending.
    { step: 'finalizeRequest', priority: 'low', name: 'faults' },
  );
  return {
    client,
    counts,
    get lostAnswers() {
      return counts.answerLost + counts.failed;
    },
    start: (seed, rates) => {
      faults = { random: new LoadRandom(seed), rates };
    },
    stop: () => {
      faults = undefined;
    },
  };
}

/** Few attempts, which do not wait for each other. */
function retryAtOnce(client: DynamoDBClient): void {
  const strategy: Awaited<ReturnType<typeof client.config.retryStrategy>> = {
    acquireInitialRetryToken: async () => attempt(0),
    refreshRetryTokenForRetry: async (token, { errorType }) => {
      const count = token.getRetryCount() + 1;
      const isHopeless = errorType === 'CLIENT_ERROR' || count >= ATTEMPTS_MAX;
      if (isHopeless) throw new Error('There is no further attempt.');
      return attempt(count);
    },
    recordSuccess: () => {},
  };
  client.config.retryStrategy = async () => strategy;
}

const attempt = (count: number) => ({ getRetryCount: () => count, getRetryDelay: () => 0 });

function draw(random: LoadRandom, rates: FaultRates): Fault | undefined {
  let left = random.next();
  for (const [fault, rate] of Object.entries(rates)) {
    left -= rate;
    if (left < 0) return fault as Fault;
  }
  return undefined;
}

function connectionBroken(random: LoadRandom): Error {
  const code = random.pick(CONNECTION_CODES);
  return Object.assign(new Error(`A fault was injected: ${code}`), { code });
}

function throttled(): Error {
  return new ProvisionedThroughputExceededException({
    message: 'A fault was injected: throttled',
    $metadata: { httpStatusCode: 400 },
  });
}

/** The service may have done what it says it failed at. */
function failed(): Error {
  return new InternalServerError({
    message: 'A fault was injected: internal failure',
    $metadata: { httpStatusCode: 500 },
  });
}
