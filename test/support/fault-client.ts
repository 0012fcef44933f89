import { setTimeout as pause } from 'node:timers/promises';
import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import { LoadRandom } from './load-random.ts';
import { engineClient } from './start-broker.ts';

/** A fault of a request. */
export type Fault = 'requestLost' | 'answerLost' | 'throttled' | 'failed' | 'slow';

/** The rate of each fault, as a share of all requests. */
export type FaultRates = Readonly<Record<Fault, number>>;

/** A DynamoDB client with random faults; the same seed and order of requests repeat them. */
export interface FaultClient {
  readonly client: DynamoDBClient;
  /** Injects faults from now on, with a new seed. */
  start(seed: string, rates: FaultRates): void;
  /** Injects no more faults. */
  stop(): void;
  /** How often each fault has happened so far. */
  readonly counts: Readonly<Record<Fault, number>>;
  /** How often a request that was or may have been carried out got no answer. */
  readonly lostAnswers: number;
  /** How many requests failed without an injected fault, as happens on an overloaded machine. */
  readonly unforeseen: number;
}

/** Few, so that some requests use up their attempts and fail. */
const ATTEMPTS_MAX = 2;
/** Without injected faults every request must succeed, even on an overloaded machine. */
const ATTEMPTS_MAX_WITHOUT_FAULTS = 10;
const DELAY_MS_WITHOUT_FAULTS = 100;
/** Requests that start within this time overtake a request that is slow, or whose answer is slow. */
const SLOW_MS_MAX = 8;
/** Node's error codes of broken connections. */
const CONNECTION_CODES = ['ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ECONNREFUSED'] as const;

/**
 * Injects faults between the broker and the engine, below the retries of the SDK, like those of a network.
 * The caller destroys the client.
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
      // Every answer, also a refusal, is lost.
      await Promise.allSettled([answer]);
      throw fault === 'failed' ? failed() : connectionBroken(random);
    },
    // Below the retries, above signing and sending.
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

/** Whether an error is the engine's answer to the request, and not a failure of the engine. */
function isAnswer(error: unknown): boolean {
  const { $metadata: metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return metadata?.httpStatusCode === 400;
}

/** While faults are injected, few attempts without pauses; otherwise many with pauses. */
function retry(client: DynamoDBClient, isFailing: () => boolean): void {
  const attempt = (count: number) => ({
    getRetryCount: () => count,
    getRetryDelay: () => (isFailing() ? 0 : count * DELAY_MS_WITHOUT_FAULTS),
  });
  const strategy: Awaited<ReturnType<typeof client.config.retryStrategy>> = {
    acquireInitialRetryToken: async () => attempt(0),
    refreshRetryTokenForRetry: async (token, { errorType }) => {
      const count = token.getRetryCount() + 1;
      const attemptsMax = isFailing() ? ATTEMPTS_MAX : ATTEMPTS_MAX_WITHOUT_FAULTS;
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

/** Delays either the request or the answer. */
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

/** An internal failure, after which the request may have been carried out. */
function failed(): Error {
  return new InternalServerError({
    message: 'A fault was injected: internal failure',
    $metadata: { httpStatusCode: 500 },
  });
}
