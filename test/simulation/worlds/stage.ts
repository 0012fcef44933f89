import type { Item } from '../tables/database.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import type { Arrived, NetworkRequest } from '../tables/network.ts';
import type { Event, Pending, Upcoming, Way } from './events.ts';
import { asRead } from './footprint.ts';
import { type Outcome, PendingRequest } from './pending-request.ts';
import { directly, TABLES, WorldProcess } from './process.ts';
import { promisesSettled, WorldTime } from './time.ts';

/** The items of the tables at an instant. */
export interface Snapshot {
  readonly at: number;
  readonly items: readonly { readonly table: string; readonly item: Item }[];
}

export interface StageSettings {
  readonly snapshot?: Snapshot | undefined;
  /** Whether prepare and commit of a transaction are two events, between which others conflict with it. */
  readonly splitsTransactions?: boolean | undefined;
  /** Whether a short pause ends at any event without time passing, as if the other processes were slow. */
  readonly endsPauses?: boolean | undefined;
  /** Whether each batch leaves some items unprocessed. */
  readonly splitsBatches?: boolean | undefined;
}

/** The longest pause that counts as short, ms: the one between two tries. */
const PAUSE_MS_MAX = 1000;

/** The limit of events in a run. */
export const EVENTS_MAX = 400;
/** The limit of requests that are executed directly. */
const DIRECT_REQUESTS_MAX = 50_000;

/** The state of one run: the tables, the time, the processes and the events that can happen next. */
export class Stage {
  readonly time: WorldTime;
  readonly database: SimulatedDatabase;
  readonly pending = new Map<number, Pending>();
  readonly events: Event[] = [];
  /** Errors of background work. */
  readonly faults: unknown[] = [];
  readonly #splits: boolean;
  readonly #endsPauses: boolean;
  /** The requests after `begin`. */
  readonly requests: SentRequest[] = [];
  readonly #sharing = new Set<string>();
  /** How many next requests of a process fail, and how. */
  readonly #cutOff = new Map<string, { readonly requests: number; readonly fail: () => never }>();
  readonly #crashed = new Map<string, () => void>();
  #isDirect = true;
  #directRequests = 0;
  #numbers = 0;

  constructor(settings: StageSettings = {}) {
    const { snapshot, splitsTransactions = false, endsPauses = false } = settings;
    const unprocessedChance = settings.splitsBatches === true ? 1 : 0;
    this.time = new WorldTime(snapshot?.at);
    this.#splits = splitsTransactions;
    this.#endsPauses = endsPauses;
    this.database = new SimulatedDatabase({
      now: () => this.time.now,
      random: () => 0.4,
      unprocessedChance,
      staleMsMax: 0,
      throttles: false,
    });
    for (const { table, item } of snapshot?.items ?? []) {
      this.database.execute('PutItemCommand', { TableName: table, Item: item });
    }
  }

  /** From now on requests wait until they are chosen. */
  begin(): void {
    this.#isDirect = false;
  }

  /** From now on requests are executed directly. */
  end(): void {
    this.#isDirect = true;
  }

  /** Starts a process. `sharesMemory` = whether several actors use it. */
  start(name: string, sharesMemory = false, onCrash = () => {}): WorldProcess {
    this.#crashed.set(name, onCrash);
    if (sharesMemory) this.#sharing.add(name);
    const process: WorldProcess = new WorldProcess({
      name,
      time: this.time,
      database: this.database,
      carry: (request, arrive) =>
        this.#isDirect ? this.#directly(request, arrive) : this.#wait(process, request, arrive),
      takePause: (ms, work) => {
        if (!this.#endsPauses || this.#isDirect || ms > PAUSE_MS_MAX) return false;
        this.#step(name, { isPause: true, text: () => 'a pause ends' }, work);
        return true;
      },
      reportFault: (error) => this.faults.push(error),
    });
    return process;
  }

  async #directly(request: NetworkRequest, arrive: () => Arrived): Promise<object> {
    // Time does not pass here, so this limit ends an endless loop.
    if (++this.#directRequests > DIRECT_REQUESTS_MAX) throw new Error('Requests never end.');
    return await directly(request, arrive);
  }

  /** Resolves when an actor may begin an operation; the explorer chooses when. */
  turn(process: WorldProcess, actor: string): Promise<void> {
    if (process.isOver) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#step(process.name, { isStart: true, text: () => `${actor} begins` }, resolve);
    });
  }

  /** Calls `abort` for an actor; the explorer chooses when. */
  abort(process: WorldProcess, actor: string, abort: () => void): void {
    this.#step(process.name, { text: () => `${actor} aborts` }, abort);
  }

  /** Adds a passage of time as an event; resolves when it has happened. */
  pass(process: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#add({
        kind: 'time',
        process,
        footprint: [],
        isWrite: false,
        text: () => `** ${ms} ms pass`,
        happen: () => {
          const until = this.time.now + ms;
          for (
            let at = this.time.nextAt();
            at !== undefined && at <= until;
            at = this.time.nextAt()
          ) {
            this.time.ring();
          }
          this.time.now = until;
          resolve();
          return '';
        },
      });
    });
  }

  /** Executes a pending event, and all that follows from it within the processes. */
  async happen(number: number, way: Way): Promise<void> {
    const next = this.pending.get(number);
    if (next === undefined) throw new Error(`No event with the number ${number} is pending.`);
    this.pending.delete(number);
    const place = this.events.length;
    this.events.push({ ...next, way, result: '' });
    const result = next.happen(way);
    const isRefused = way === 'plain' && REFUSALS.has(result);
    const footprint = isRefused ? asRead(next.footprint) : next.footprint;
    this.events[place] = { ...next, way, result, footprint };
    await promisesSettled();
  }

  /** Lets the next timer ring. Returns false if there is none. */
  async ring(): Promise<boolean> {
    if (this.time.nextAt() === undefined) return false;
    const ms = Math.max(0, (this.time.nextAt() ?? 0) - this.time.now);
    this.events.push({
      number: -1,
      kind: 'timer',
      process: '',
      footprint: [],
      cause: this.events.length - 1,
      isWrite: false,
      text: () => `** a timer rings, ${ms} ms later`,
      way: 'plain',
      result: '',
    });
    this.time.ring();
    await promisesSettled();
    return true;
  }

  /** Lets timers ring until some work without choices is done. */
  async until<Value>(work: Promise<Value>): Promise<Value> {
    let isOver = false;
    const noted = work.finally(() => {
      isOver = true;
    });
    noted.catch(() => {});
    for (;;) {
      await promisesSettled();
      if (isOver) return await noted;
      if (this.time.nextAt() === undefined) throw new Error('Work never ends.');
      this.time.ring();
    }
  }

  /** The current items of the tables. */
  snapshot(): Snapshot {
    const items = Object.values(TABLES).flatMap((table) =>
      this.database.items(table).map((item) => ({ table, item })),
    );
    return { at: this.time.now, items };
  }

  /** Adds an event within a process that makes no request. */
  #step(
    process: string,
    what: Pick<Upcoming, 'isStart' | 'isPause' | 'text'>,
    work: () => void,
  ): void {
    this.#add({
      ...what,
      kind: 'request',
      process,
      memory: this.#sharing.has(process) ? process : undefined,
      footprint: [],
      isWrite: false,
      happen: () => {
        work();
        return '';
      },
    });
  }

  #add(next: Upcoming): void {
    const number = this.#numbers++;
    this.pending.set(number, { ...next, number, cause: this.events.length - 1 });
  }

  #wait(process: WorldProcess, request: NetworkRequest, arrive: () => Arrived): Promise<object> {
    if (process.isOver) return new Promise(() => {});
    const at = this.events.length;
    this.requests.push({ process: process.name, name: request.name, at });
    const hooks = {
      add: (next: Upcoming) => this.#add(next),
      crash: () => this.#crash(process),
      cutOff: (requests: number, fail: () => never) =>
        this.#cutOff.set(process.name, { requests, fail }),
      splitsTransactions: this.#splits,
    };
    const memory = this.#sharing.has(process.name) ? process.name : undefined;
    return new Promise((resolve, reject) => {
      const hear = (outcome: Outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.answer);
      const way = new PendingRequest(hooks, {
        process: process.name,
        memory,
        request,
        arrive: this.#nextFailure(process.name) ?? arrive,
        hear,
      });
      this.#add(way.upcoming);
    });
  }

  #nextFailure(process: string): (() => never) | undefined {
    const { requests, fail } = this.#cutOff.get(process) ?? {};
    if (requests === undefined || fail === undefined) return undefined;
    if (requests === 1) this.#cutOff.delete(process);
    else this.#cutOff.set(process, { requests: requests - 1, fail });
    return fail;
  }

  #crash(process: WorldProcess): void {
    process.end();
    for (const [number, { process: name, isCommit }] of this.pending) {
      if (name === process.name && isCommit !== true) this.pending.delete(number);
    }
    this.#crashed.get(process.name)?.();
  }
}

/** A request of a process. */
export interface SentRequest {
  readonly process: string;
  /** The name of the SDK's command. */
  readonly name: string;
  /** The number of events before it. */
  readonly at: number;
}

/** Results of a write that changed nothing, and so was only a read. */
const REFUSALS = new Set([
  'ConditionalCheckFailedException',
  'TransactionCanceledException',
  'TransactionConflictException',
]);
