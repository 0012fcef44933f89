import type { Item } from '../tables/database.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import type { Arrived, NetworkRequest } from '../tables/network.ts';
import { asRead } from './footprint.ts';
import type { Event, Pending, Upcoming, Way } from './happenings.ts';
import { directly, TABLES, WorldProcess } from './process.ts';
import { type Outcome, RequestOnItsWay } from './request-on-its-way.ts';
import { promisesSettled, WorldTime } from './time.ts';

/** What the tables hold, and when. */
export interface Snapshot {
  readonly at: number;
  readonly items: readonly { readonly table: string; readonly item: Item }[];
}

export interface StageSettings {
  readonly snapshot?: Snapshot | undefined;
  /** Whether a transaction has two halves, between which others meet its conflicts. */
  readonly splitsTransactions?: boolean | undefined;
  /** Whether a short pause of a process ends at any instant, as if others were slow; time stands still. */
  readonly endsPauses?: boolean | undefined;
  /** Whether each batch of reads or writes is answered in part. */
  readonly splitsBatches?: boolean | undefined;
}

/** Pauses between two tries last so long at most, ms. */
const PAUSE_MS_MAX = 1000;

/** More happens in no run. */
export const EVENTS_MAX = 400;
/** Nor are more requests carried out as they come. */
const DIRECT_REQUESTS_MAX = 50_000;

/** The tables and the processes of one run, and what can happen next in them. */
export class Stage {
  readonly time: WorldTime;
  readonly database: SimulatedDatabase;
  readonly pending = new Map<number, Pending>();
  readonly events: Event[] = [];
  /** What failed behind answers. */
  readonly faults: unknown[] = [];
  readonly #splits: boolean;
  readonly #endsPauses: boolean;
  /** What processes asked of the tables while that was a matter of choice. */
  readonly requests: Asked[] = [];
  readonly #sharing = new Set<string>();
  /** How many more requests of a process will fail, and with what. */
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

  /** From here on requests wait until they are chosen. */
  begin(): void {
    this.#isDirect = false;
  }

  /** From here on requests are carried out as they come. */
  end(): void {
    this.#isDirect = true;
  }

  /** Starts a process. `sharesMemory` = whether several actors are at work in it. */
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
    // Time stands still meanwhile: a loop without an end would never let go.
    if (++this.#directRequests > DIRECT_REQUESTS_MAX) throw new Error('Requests never end.');
    return await directly(request, arrive);
  }

  /** Resolves when an actor may begin an operation: when it does is a matter of choice. */
  turn(process: WorldProcess, actor: string): Promise<void> {
    if (process.isOver) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#step(process.name, { isStart: true, text: () => `${actor} begins` }, resolve);
    });
  }

  /** Lets an actor have time pass; resolves when it has. */
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

  /** Has something happen, and all that follows from it within processes. */
  async happen(number: number, way: Way): Promise<void> {
    const next = this.pending.get(number);
    if (next === undefined) throw new Error(`Nothing with the number ${number} can happen now.`);
    this.pending.delete(number);
    const place = this.events.length;
    this.events.push({ ...next, way, result: '' });
    const result = next.happen(way);
    const isRefused = way === 'plain' && REFUSALS.has(result);
    const footprint = isRefused ? asRead(next.footprint) : next.footprint;
    this.events[place] = { ...next, way, result, footprint };
    await promisesSettled();
  }

  /** Has the next timer ring. False = there is none. */
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

  /** Lets timers ring until work is done that needs no choice. */
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

  /** What the tables hold now. */
  snapshot(): Snapshot {
    const items = Object.values(TABLES).flatMap((table) =>
      this.database.items(table).map((item) => ({ table, item })),
    );
    return { at: this.time.now, items };
  }

  /** Has something come up within a process, which asks nothing of the tables. */
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
    this.requests.push({ process: process.name, name: request.name });
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
      const way = new RequestOnItsWay(hooks, {
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
export interface Asked {
  readonly process: string;
  /** Of the SDK's command. */
  readonly name: string;
}

/** What a write comes to that has changed nothing: it was a read. */
const REFUSALS = new Set([
  'ConditionalCheckFailedException',
  'TransactionCanceledException',
  'TransactionConflictException',
]);
