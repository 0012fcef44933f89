import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import type { Arrived, Network, NetworkRequest } from '../tables/client.ts';
import type { Random } from './random.ts';
import type { Timeline } from './timeline.ts';

/** How often requests go wrong on their way, as fractions of all. */
export interface NetworkFaults {
  /** Never arrives. */
  readonly requestLost: number;
  /** Is carried out; the answer never comes back. */
  readonly answerLost: number;
  /** Is given up by the process, and carried out later. */
  readonly late: number;
  /** Is answered with an internal error; half of them are carried out. */
  readonly serverError: number;
  /** Is refused because the service is busy. */
  readonly throttled: number;
  /** Takes up to `SLOW_MS` rather than a few milliseconds. */
  readonly slow: number;
}

export const NO_FAULTS: NetworkFaults = {
  requestLost: 0,
  answerLost: 0,
  late: 0,
  serverError: 0,
  throttled: 0,
  slow: 0,
};

/** What became of a request on its way. */
export type RequestFate = keyof NetworkFaults | 'plain' | 'unreachable';

/** A process gives a request up after this long, ms, as deployed ones do. */
const REQUEST_MS_MAX = 5000;
/** A request that was given up arrives after this long at most, ms. */
export const LATE_MS_MAX = 30_000;
const SLOW_MS = 2500;
const BUSY_ANSWER_MS = 3;

/** What the network needs to know of the process that it serves. */
export interface Endpoint {
  /** Has something happen in the process at an instant, if it is still the same one then. */
  deliver(instant: number, work: () => void): void;
}

export interface NetworkSettings {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly endpoint: Endpoint;
  /** As they are now. */
  readonly faults: () => NetworkFaults;
  /** Told of every request and how it went, for histories that somebody reads. */
  readonly trace?:
    | ((request: NetworkRequest, fate: RequestFate, result: string) => void)
    | undefined;
  /** Told of each request that goes wrong. */
  readonly count: (fate: RequestFate) => void;
}

/** The way between one process and the tables. */
export class SimulatedNetwork implements Network {
  readonly #settings: NetworkSettings;

  constructor(settings: NetworkSettings) {
    this.#settings = settings;
  }

  random(): number {
    return this.#settings.random.fraction();
  }

  pause(ms: number): Promise<void> {
    const { timeline, endpoint } = this.#settings;
    return new Promise((resolve) => endpoint.deliver(timeline.now + ms, resolve));
  }

  carry(request: NetworkRequest, arrive: () => Arrived): Promise<object> {
    const fate = this.#fate();
    if (fate !== 'plain') this.#settings.count(fate);
    return new Promise((resolve, reject) => {
      const { timeline, endpoint, trace } = this.#settings;
      const hear = (delayMs: number, tell: () => void) =>
        endpoint.deliver(timeline.now + delayMs, tell);
      const fail = (delayMs: number, error: Error) => hear(delayMs, () => reject(error));
      const carryOut = (delayMs: number, then: (outcome: Outcome) => void) =>
        timeline.after(delayMs, () =>
          this.#atTables(arrive, (outcome) => {
            if ('error' in outcome && isThrottled(outcome.error)) this.#settings.count('throttled');
            trace?.(request, fate, 'error' in outcome ? nameOf(outcome.error) : 'done');
            then(outcome);
          }),
        );
      const answer = (outcome: Outcome) =>
        hear(this.#latency(fate), () =>
          'error' in outcome ? reject(outcome.error) : resolve(outcome.answer),
        );
      switch (fate) {
        case 'plain':
        case 'slow':
          return carryOut(this.#latency(fate), answer);
        case 'answerLost':
          carryOut(this.#latency(fate), () => {});
          return this.#giveUp(fail);
        case 'late':
          carryOut(this.#settings.random.between(1, LATE_MS_MAX), () => {});
          return this.#giveUp(fail);
        case 'serverError':
          if (this.#settings.random.chance(0.5)) carryOut(1, () => {});
          return fail(this.#latency(fate) + 2, serverError());
        case 'throttled':
          trace?.(request, fate, 'refused');
          return fail(BUSY_ANSWER_MS, throttled());
        case 'requestLost':
          trace?.(request, fate, 'lost');
          return this.#giveUp(fail);
        case 'unreachable':
          trace?.(request, fate, 'lost');
          return fail(1, connectionError('connect ECONNREFUSED', 'ECONNREFUSED', 'connect'));
      }
    });
  }

  /** The connection breaks soon, or the process has waited long enough. */
  #giveUp(fail: (delayMs: number, error: Error) => void): void {
    const { random } = this.#settings;
    if (random.chance(0.3)) fail(REQUEST_MS_MAX, timedOut());
    else fail(random.between(5, 50), connectionError('socket hang up', 'ECONNRESET'));
  }

  #fate(): RequestFate {
    const { random, faults } = this.#settings;
    const rates = faults();
    let left = random.fraction();
    for (const fate of FATES) {
      left -= rates[fate];
      if (left < 0) return fate === 'requestLost' && random.chance(0.3) ? 'unreachable' : fate;
    }
    return 'plain';
  }

  #latency(fate: RequestFate): number {
    const { random } = this.#settings;
    if (fate === 'slow') return random.between(10, SLOW_MS);
    return random.chance(0.05) ? random.between(5, 60) : random.between(1, 6);
  }

  /** At the tables. A transaction holds its items for a moment, in which others meet it. */
  #atTables(arrive: () => Arrived, then: (outcome: Outcome) => void): void {
    const { timeline, random } = this.#settings;
    const arrived = orError(arrive);
    if ('finish' in arrived) {
      timeline.after(random.between(0, 4), () => then({ answer: arrived.finish() }));
    } else {
      then(arrived);
    }
  }
}

function orError(arrive: () => Arrived): Arrived | { readonly error: unknown } {
  try {
    return arrive();
  } catch (error) {
    return { error };
  }
}

type Outcome = { readonly answer: object } | { readonly error: unknown };

const FATES = [
  'requestLost',
  'answerLost',
  'late',
  'serverError',
  'throttled',
  'slow',
] as const satisfies readonly (keyof NetworkFaults)[];

/** The tables themselves refuse what a collection of items has no capacity left for. */
function isThrottled(error: unknown): boolean {
  return error instanceof Error && error.name === 'ThrottlingException';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}

function timedOut(): Error {
  const error = new Error('The request was given up.');
  error.name = 'TimeoutError';
  return error;
}

function connectionError(message: string, code: string, syscall?: string): Error {
  return Object.assign(new Error(message), { code, ...(syscall === undefined ? {} : { syscall }) });
}

function serverError(): Error {
  const error = Object.assign(new Error('The service failed.'), {
    $metadata: { httpStatusCode: 500 },
    $fault: 'server',
  });
  error.name = 'InternalServerError';
  return error;
}

function throttled(): Error {
  return new ProvisionedThroughputExceededException({
    message: 'The level of configured provisioned throughput for the table was exceeded.',
    $metadata: { httpStatusCode: 400 },
  });
}
