import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import type { Arrived, Network, NetworkRequest } from '../tables/client.ts';
import type { Random } from './random.ts';
import type { Timeline } from './timeline.ts';

/** The probability of each fault of a database request. */
export interface NetworkFaults {
  /** The request never arrives. */
  readonly requestLost: number;
  /** The request is executed; its answer never arrives. */
  readonly answerLost: number;
  /** The process gives the request up, and it is executed later. */
  readonly late: number;
  /** The answer is an internal error; half of these requests are executed. */
  readonly serverError: number;
  /** The service refuses the request because it is busy. */
  readonly throttled: number;
  /** The request takes up to `slowMs` instead of a few milliseconds. */
  readonly slow: number;
  /** Absent = `SLOW_MS`. */
  readonly slowMs?: number;
  /**
   * The process gives a transaction up, and it is executed later; absent = 0. All tries of one transaction must be late
   * before its outcome is unknown, which `late` alone makes rare.
   */
  readonly lateTransactions?: number;
}

export const NO_FAULTS: NetworkFaults = {
  requestLost: 0,
  answerLost: 0,
  late: 0,
  serverError: 0,
  throttled: 0,
  slow: 0,
  lateTransactions: 0,
};

/** The fault of a request; `plain` = none. */
export type RequestFault =
  | Exclude<keyof NetworkFaults, 'slowMs' | 'lateTransactions'>
  | 'plain'
  | 'unreachable';

/** A process gives a request up after this time, ms, as deployed ones do. */
const REQUEST_MS_MAX = 5000;
/** The latest arrival of a request that was given up, ms. */
export const LATE_MS_MAX = 30_000;
const SLOW_MS = 2500;
const BUSY_ANSWER_MS = 3;

/** The process that a network serves. */
export interface Endpoint {
  /** Runs `work` in the process at an instant, unless the process has crashed by then. */
  deliver(instant: number, work: () => void): void;
}

export interface NetworkSettings {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly endpoint: Endpoint;
  /** The current rates. */
  readonly faults: () => NetworkFaults;
  /** Called for every request with its fault and result, for readable histories. */
  readonly trace?:
    | ((request: NetworkRequest, fault: RequestFault, result: string) => void)
    | undefined;
  /** Called for each request with a fault. */
  readonly count: (fault: RequestFault) => void;
}

/** The network between one process and the tables. */
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
    const fault = this.#drawFault(request);
    if (fault !== 'plain') this.#settings.count(fault);
    return new Promise((resolve, reject) => {
      const { timeline, endpoint, trace } = this.#settings;
      const respond = (delayMs: number, tell: () => void) =>
        endpoint.deliver(timeline.now + delayMs, tell);
      const fail = (delayMs: number, error: Error) => respond(delayMs, () => reject(error));
      const execute = (delayMs: number, then: (outcome: Outcome) => void) =>
        timeline.after(delayMs, () =>
          this.#atTables(arrive, (outcome) => {
            if ('error' in outcome && isThrottled(outcome.error)) this.#settings.count('throttled');
            trace?.(request, fault, 'error' in outcome ? nameOf(outcome.error) : 'done');
            then(outcome);
          }),
        );
      const answer = (outcome: Outcome) =>
        respond(this.#latency(fault), () =>
          'error' in outcome ? reject(outcome.error) : resolve(outcome.answer),
        );
      switch (fault) {
        case 'plain':
        case 'slow':
          return execute(this.#latency(fault), answer);
        case 'answerLost':
          execute(this.#latency(fault), () => {});
          return this.#giveUp(fail);
        case 'late':
          execute(this.#settings.random.between(1, LATE_MS_MAX), () => {});
          return this.#giveUp(fail);
        case 'serverError':
          if (this.#settings.random.chance(0.5)) execute(1, () => {});
          return fail(this.#latency(fault) + 2, serverError());
        case 'throttled':
          trace?.(request, fault, 'refused');
          return fail(BUSY_ANSWER_MS, throttled());
        case 'requestLost':
          trace?.(request, fault, 'lost');
          return this.#giveUp(fail);
        case 'unreachable':
          trace?.(request, fault, 'lost');
          return fail(1, connectionError('connect ECONNREFUSED', 'ECONNREFUSED', 'connect'));
      }
    });
  }

  /** The request fails: the connection breaks soon, or the process stops waiting. */
  #giveUp(fail: (delayMs: number, error: Error) => void): void {
    const { random } = this.#settings;
    if (random.chance(0.3)) fail(REQUEST_MS_MAX, timedOut());
    else fail(random.between(5, 50), connectionError('socket hang up', 'ECONNRESET'));
  }

  #drawFault({ name }: NetworkRequest): RequestFault {
    const { random, faults } = this.#settings;
    const rates = faults();
    const { lateTransactions = 0 } = rates;
    const mayBeLate = lateTransactions > 0 && name === 'TransactWriteItemsCommand';
    if (mayBeLate && random.chance(lateTransactions)) return 'late';
    let left = random.fraction();
    for (const fault of FAULTS) {
      left -= rates[fault];
      if (left < 0) return fault === 'requestLost' && random.chance(0.3) ? 'unreachable' : fault;
    }
    return 'plain';
  }

  #latency(fault: RequestFault): number {
    const { random, faults } = this.#settings;
    if (fault === 'slow') return random.between(10, faults().slowMs ?? SLOW_MS);
    return random.chance(0.05) ? random.between(5, 60) : random.between(1, 6);
  }

  /** Executes a request. A transaction holds its items for up to 4 ms, so that others can conflict with it. */
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

const FAULTS = [
  'requestLost',
  'answerLost',
  'late',
  'serverError',
  'throttled',
  'slow',
] as const satisfies readonly RequestFault[];

/** Whether the tables themselves refused the request, because its item collection has no capacity left. */
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
