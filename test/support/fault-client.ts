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
  /** How often something was done, or perhaps done, and its answer was lost. */
  readonly lostAnswers: number;
  /** How many requests failed by themselves, as they do where a machine is much too busy. */
  readonly unforeseen: number;
}

/** Few, so that now and then they are used up and the failure comes out. */
const ATTEMPTS_MAX = 2;
/** Once everything is to go well it does, also where a machine is much too busy. */
const ATTEMPTS_MAX_WELL = 10;
const DELAY_MS_WELL = 100;
/** A slow request, or one whose answer is, is overtaken by those that start within this time. */
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
  let unforeseen = 0;
  const client = engineClient();
  retry(client, () => faults !== undefined);

  client.middlewareStack.add(
    (handle) => async (args) => {
      const next = async (request: typeof args) => {
        try {
          return await handle(request);
        } catch (error) {
          if (!isAnswer(error)) unforeseen++;
          throw error;
        }
      };
      const fault = faults && draw(faults.random, faults.rates);
      if (fault === undefined || faults === undefined) return await next(args);
      const { random } = faults;
      counts[fault]++;
      if (fault === 'throttled') throw throttled();
      if (fault === 'requestLost') throw connectionBroken(random);
      if (fault === 'slow') return await beSlow(random, () => next(args));
      const answer = next(args);
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
      return counts.answerLost + counts.failed + unforeseen;
    },
    get unforeseen() {
      return unforeseen;
    },
    start: (seed, rates) => {
      faults = { random: new LoadRandom(seed), rates };
    },
    stop: () => {
      faults = undefined;
    },
  };
}

/** What the engine answers about a request, rather than about itself. */
function isAnswer(error: unknown): boolean {
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return metadata?.httpStatusCode === 400;
}

/** While something is to fail, few attempts, which do not wait for each other. */
function retry(client: DynamoDBClient, isFailing: () => boolean): void {
  const attempt = (count: number) => ({
    getRetryCount: () => count,
    getRetryDelay: () => (isFailing() ? 0 : count * DELAY_MS_WELL),
  });
  const strategy: Awaited<ReturnType<typeof client.config.retryStrategy>> = {
    acquireInitialRetryToken: async () => attempt(0),
    refreshRetryTokenForRetry: async (token, { errorType }) => {
      const count = token.getRetryCount() + 1;
      const attemptsMax = isFailing() ? ATTEMPTS_MAX : ATTEMPTS_MAX_WELL;
      const isHopeless = errorType === 'CLIENT_ERROR' || count >= attemptsMax;
      if (isHopeless) throw new Error('There is no further attempt.');
      return attempt(count);
    },
    recordSuccess: () => {},
  };
  client.config.retryStrategy = async () => strategy;
}

function draw(random: LoadRandom, rates: FaultRates): Fault | undefined {
  let left = random.next();
  for (const [fault, rate] of Object.entries(rates)) {
    left -= rate;
    if (left < 0) return fault as Fault;
  }
  return undefined;
}

/** On the way there, or on the way back. */
async function beSlow<Answer>(random: LoadRandom, send: () => Promise<Answer>): Promise<Answer> {
  const isAnswerSlow = random.chance(0.5);
  const ms = random.between(1, SLOW_MS_MAX);
  if (!isAnswerSlow) await pause(ms);
  const answer = await send();
  if (isAnswerSlow) await pause(ms);
  return answer;
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
