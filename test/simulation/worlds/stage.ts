import type { Item } from '../tables/database.ts';
import { SimulatedDatabase } from '../tables/database.ts';
import type { Arrived, NetworkRequest } from '../tables/network.ts';
import { describeRequest } from './describe.ts';
import { type Footprint, footprintOf } from './footprint.ts';
import { directly, TABLES, WorldProcess } from './process.ts';
import { promisesSettled, WorldTime } from './time.ts';

/** What can go wrong with a write. */
export type Fault =
  /** It is carried out; the process hears that the connection broke. */
  | 'answerLost'
  /** The process hears that the connection broke; the write is carried out at any instant after that. */
  | 'late'
  /** It is carried out, and the process ends. */
  | 'crash'
  /** The process ends before it is carried out. */
  | 'crashBefore';

/** How a request is carried out. */
export type Way = 'plain' | Fault;

/** Something that can happen next. */
export interface Pending {
  /** Counted as they come up; the same choices give the same numbers. */
  readonly number: number;
  readonly kind: 'request' | 'time';
  readonly process: string;
  readonly footprint: Footprint;
  /** The event that brought it up, by its place in the run; -1 = the beginning. */
  readonly cause: number;
  readonly isWrite: boolean;
  /** The process, where several actors share its memory: then the order of all its answers can matter. */
  readonly memory?: string | undefined;
  /** An actor begins an operation, which reads clocks and memories. */
  readonly isStart?: boolean;
  /** The second half of a transaction, which happens even if its process ends. */
  readonly isCommit?: boolean;
  /** What timelines show. */
  readonly text: () => string;
  /** Has it happen; returns what timelines show of the result. */
  readonly happen: (way: Way) => string;
}

/** Something that has happened. */
export interface Event extends Omit<Pending, 'kind' | 'happen'> {
  readonly kind: Pending['kind'] | 'timer';
  readonly way: Way;
  readonly result: string;
}

/** What the tables hold, and when. */
export interface Snapshot {
  readonly at: number;
  readonly items: readonly { readonly table: string; readonly item: Item }[];
}

export interface StageSettings {
  readonly snapshot?: Snapshot | undefined;
  /** Whether a transaction has two halves, between which others meet its conflicts. */
  readonly splitsTransactions?: boolean | undefined;
}

/** More happens in no run. */
export const EVENTS_MAX = 400;

/** The tables and the processes of one run, and what can happen next in them. */
export class Stage {
  readonly time: WorldTime;
  readonly database: SimulatedDatabase;
  readonly pending = new Map<number, Pending>();
  readonly events: Event[] = [];
  /** What failed behind answers. */
  readonly faults: unknown[] = [];
  readonly #splits: boolean;
  readonly #sharing = new Set<string>();
  readonly #crashed = new Map<string, () => void>();
  #isDirect = true;
  #numbers = 0;

  constructor({ snapshot, splitsTransactions = false }: StageSettings = {}) {
    this.time = new WorldTime(snapshot?.at);
    this.#splits = splitsTransactions;
    this.database = new SimulatedDatabase({
      now: () => this.time.now,
      random: () => 0.5,
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
        this.#isDirect
          ? directly(request, arrive)
          : this.#wait(process, sharesMemory ? name : undefined, request, arrive),
      reportFault: (error) => this.faults.push(error),
    });
    return process;
  }

  /** Resolves when an actor may begin an operation: when it does is a matter of choice. */
  turn(process: WorldProcess, actor: string): Promise<void> {
    if (process.isOver) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#add({
        kind: 'request',
        process: process.name,
        memory: this.#sharing.has(process.name) ? process.name : undefined,
        footprint: [],
        isWrite: false,
        isStart: true,
        text: () => `${actor} begins`,
        happen: () => {
          resolve();
          return '';
        },
      });
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
    this.events[place] = { ...next, way, result };
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

  #add(next: Omit<Pending, 'number' | 'cause'>): void {
    const number = this.#numbers++;
    this.pending.set(number, { ...next, number, cause: this.events.length - 1 });
  }

  #wait(
    process: WorldProcess,
    memory: string | undefined,
    request: NetworkRequest,
    arrive: () => Arrived,
  ): Promise<object> {
    if (process.isOver) return new Promise(() => {});
    const footprint = footprintOf(request);
    const isWrite = footprint.some((touch) => touch.isWrite);
    return new Promise((resolve, reject) => {
      const answer = (outcome: Outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.answer);
      const happen = (way: Way): string => {
        switch (way) {
          case 'plain':
            return this.#carryOut(base, arrive, answer);
          case 'answerLost': {
            const result = this.#carryOut(base, arrive, () => {});
            reject(connectionBroke());
            return result;
          }
          case 'late':
            this.#add({
              ...base,
              process: `${process.name}, late`,
              isWrite: false,
              happen: () => this.#carryOut(base, arrive, () => {}),
            });
            reject(connectionBroke());
            return 'the connection broke';
          case 'crash': {
            const result = this.#carryOut(base, arrive, () => {});
            this.#crash(process);
            return result;
          }
          case 'crashBefore':
            this.#crash(process);
            return 'never sent';
        }
      };
      const base = {
        kind: 'request' as const,
        process: process.name,
        memory,
        footprint,
        isWrite,
        text: () => describeRequest(request),
      };
      this.#add({ ...base, happen });
    });
  }

  /** Returns what came of it, for timelines. */
  #carryOut(
    base: Omit<Pending, 'number' | 'cause' | 'happen'>,
    arrive: () => Arrived,
    answer: (outcome: Outcome) => void,
  ): string {
    let arrived: Arrived;
    try {
      arrived = arrive();
    } catch (error) {
      answer({ error });
      return error instanceof Error ? error.name : String(error);
    }
    if ('answer' in arrived) {
      answer(arrived);
      return summaryOf(arrived.answer);
    }
    const { finish } = arrived;
    if (!this.#splits) {
      answer({ answer: finish() });
      return 'done';
    }
    this.#add({
      ...base,
      isWrite: false,
      isCommit: true,
      text: () => `commit of ${base.text()}`,
      happen: () => {
        answer({ answer: finish() });
        return 'done';
      },
    });
    return 'prepared';
  }

  #crash(process: WorldProcess): void {
    process.end();
    for (const [number, { process: name, isCommit }] of this.pending) {
      if (name === process.name && isCommit !== true) this.pending.delete(number);
    }
    this.#crashed.get(process.name)?.();
  }
}

type Outcome = { readonly answer: object } | { readonly error: unknown };

function connectionBroke(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}

function summaryOf(answer: object): string {
  const { Items, Item } = answer as { readonly Items?: readonly Item[]; readonly Item?: Item };
  if (Items !== undefined) return Items.map((item) => item['sk']?.S).join(', ') || 'nothing';
  if (Item !== undefined) return 'there';
  return 'done';
}
