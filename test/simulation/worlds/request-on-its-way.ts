import type { Item } from '../tables/database.ts';
import { throttled } from '../tables/failures.ts';
import type { Arrived, NetworkRequest } from '../tables/network.ts';
import { describeRequest } from './describe.ts';
import { footprintOf } from './footprint.ts';
import type { Upcoming, Way } from './happenings.ts';

/** What a process hears of a request. */
export type Outcome = { readonly answer: object } | { readonly error: unknown };

/** What a request does to the run that it is part of. */
interface RequestHooks {
  /** Has something else come up. */
  readonly add: (next: Upcoming) => void;
  /** Ends the process that asked. */
  readonly crash: () => void;
  /** Lets its next requests fail. */
  readonly cutOff: (requests: number, fail: () => never) => void;
  readonly splitsTransactions: boolean;
}

interface RequestParts {
  readonly process: string;
  readonly memory: string | undefined;
  readonly request: NetworkRequest;
  readonly arrive: () => Arrived;
  readonly hear: (outcome: Outcome) => void;
}

/** Of a write, behind its first one, */
const OTHER_TRIES = 2;
/** and of the look that follows it. */
const LOOK_TRIES = 3;

/** A request that waits to be carried out, in one way or another. */
export class RequestOnItsWay {
  readonly upcoming: Upcoming;
  readonly #hooks: RequestHooks;
  readonly #parts: RequestParts;

  constructor(hooks: RequestHooks, parts: RequestParts) {
    this.#hooks = hooks;
    this.#parts = parts;
    const { process, memory, request } = parts;
    const footprint = footprintOf(request);
    this.upcoming = {
      kind: 'request',
      process,
      memory,
      footprint,
      isWrite: footprint.some((touch) => touch.isWrite),
      text: () => describeRequest(request),
      happen: (way) => this.#happen(way),
    };
  }

  /** Returns what came of it, for timelines. */
  #happen(way: Way): string {
    const { hear, process } = this.#parts;
    const { add, crash, cutOff } = this.#hooks;
    switch (way) {
      case 'plain':
        return this.#carryOut(hear);
      case 'answerLost': {
        const result = this.#carryOut(() => {});
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
        const happen = () => this.#carryOut(() => {});
        add({ ...this.upcoming, process: `${process}, late`, isWrite: false, happen });
        hear(connectionBroke());
        return 'the connection broke';
      }
      case 'cutOff': {
        const result = this.#carryOut(() => {});
        cutOff(OTHER_TRIES + LOOK_TRIES, neverArrive);
        hear(connectionBroke());
        return result;
      }
      case 'crash': {
        const result = this.#carryOut(() => {});
        crash();
        return result;
      }
      case 'crashBefore':
        crash();
        return 'never sent';
    }
  }

  #carryOut(hear: (outcome: Outcome) => void): string {
    let arrived: Arrived;
    try {
      arrived = this.#parts.arrive();
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

/** What a process hears of a request whose connection broke. */
function connectionBroke(): { readonly error: Error } {
  return { error: Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) };
}

function summaryOf(answer: object): string {
  const { Items, Item } = answer as { readonly Items?: readonly Item[]; readonly Item?: Item };
  if (Items !== undefined) return Items.map((item) => item['sk']?.S).join(', ') || 'nothing';
  if (Item !== undefined) return 'there';
  return 'done';
}
