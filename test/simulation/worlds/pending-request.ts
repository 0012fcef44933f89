import type { Item } from '../tables/database.ts';
import { throttled } from '../tables/failures.ts';
import type { Arrived, NetworkRequest } from '../tables/network.ts';
import { describeRequest } from './describe.ts';
import type { Upcoming, Way } from './events.ts';
import { footprintOf } from './footprint.ts';

/** The outcome of a request for its process. */
export type Outcome = { readonly answer: object } | { readonly error: unknown };

/** The effects of a request on its run. */
interface RequestHooks {
  /** Adds a pending event. */
  readonly add: (next: Upcoming) => void;
  /** Crashes the process of the request. */
  readonly crash: () => void;
  /** Lets the next requests of the process fail. */
  readonly cutOff: (requests: number, fail: () => never) => void;
  readonly splitsTransactions: boolean;
}

interface RequestSettings {
  readonly process: string;
  readonly memory: string | undefined;
  readonly request: NetworkRequest;
  readonly arrive: () => Arrived;
  readonly hear: (outcome: Outcome) => void;
}

/** The retries of a write, after its first try. */
const OTHER_TRIES = 2;
/** The tries of the read that checks whether the write took effect. */
const READ_TRIES = 3;

/** A request that waits to be executed, with a fault or without. */
export class PendingRequest {
  readonly upcoming: Upcoming;
  readonly #hooks: RequestHooks;
  readonly #settings: RequestSettings;

  constructor(hooks: RequestHooks, settings: RequestSettings) {
    this.#hooks = hooks;
    this.#settings = settings;
    const { process, memory, request } = settings;
    const footprint = footprintOf(request);
    this.upcoming = {
      kind: 'request',
      process,
      memory,
      footprint,
      isWrite: footprint.some((access) => access.isWrite),
      text: () => describeRequest(request),
      happen: (way) => this.#happen(way),
    };
  }

  /** Executes the request; returns the text of its result in timelines. */
  #happen(way: Way): string {
    const { hear, process } = this.#settings;
    const { add, crash, cutOff } = this.#hooks;
    switch (way) {
      case 'plain':
        return this.#execute(hear);
      case 'answerLost': {
        const result = this.#execute(() => {});
        hear(connectionBroke());
        return result;
      }
      case 'lateUnheard':
        cutOff(OTHER_TRIES, neverArrive);
        return this.#happen('late');
      case 'lateBusy':
        cutOff(OTHER_TRIES, meetBusyService);
        return this.#happen('late');
      case 'late': {
        const happen = () => this.#execute(() => {});
        add({ ...this.upcoming, process: `${process}, late`, isWrite: false, happen });
        hear(connectionBroke());
        return 'the connection broke';
      }
      case 'cutOff': {
        const result = this.#execute(() => {});
        cutOff(OTHER_TRIES + READ_TRIES, neverArrive);
        hear(connectionBroke());
        return result;
      }
      case 'crash': {
        const result = this.#execute(() => {});
        crash();
        return result;
      }
      case 'crashBefore':
        crash();
        return 'never sent';
    }
  }

  #execute(hear: (outcome: Outcome) => void): string {
    let arrived: Arrived;
    try {
      arrived = this.#settings.arrive();
    } catch (error) {
      hear({ error });
      return error instanceof Error ? error.name : String(error);
    }
    if ('answer' in arrived) {
      hear(arrived);
      return summaryOf(arrived.answer);
    }
    const { finish } = arrived;
    const commit = () => {
      hear({ answer: finish() });
      return 'done';
    };
    if (!this.#hooks.splitsTransactions) return commit();
    this.#hooks.add({
      ...this.upcoming,
      isWrite: false,
      isCommit: true,
      text: () => `commit of ${this.upcoming.text()}`,
      happen: commit,
    });
    return 'prepared';
  }
}

function neverArrive(): never {
  throw connectionBroke().error;
}

function meetBusyService(): never {
  throw throttled();
}

/** The outcome of a request whose connection broke. */
function connectionBroke(): { readonly error: Error } {
  return { error: Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) };
}

function summaryOf(answer: object): string {
  const { Items, Item } = answer as { readonly Items?: readonly Item[]; readonly Item?: Item };
  if (Items !== undefined) return Items.map((item) => item['sk']?.S).join(', ') || 'nothing';
  if (Item !== undefined) return 'there';
  return 'done';
}
