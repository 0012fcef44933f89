import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { outcomeOf } from '../../../shared/storage/dynamodb/outcome-of.ts';
import type { Delivery } from './delivery.ts';
import type { Call, CallKind, History } from './history.ts';
import type { WorldProcess } from './process.ts';
import type { Stage } from './stage.ts';

/** What is asked for. */
export interface About {
  readonly kind: CallKind;
  readonly path: string;
  readonly text: string;
  readonly tags?: readonly string[];
  readonly delivery?: Delivery;
  readonly session?: string;
  readonly mayExpire?: boolean;
}

/** Asks a process for operations, and notes what it hears. What fails is thrown nowhere. */
export class Caller {
  readonly name: string;
  readonly process: WorldProcess;
  readonly #stage: Stage;
  readonly #history: History;
  /** Whether what it does comes before the first choice. */
  readonly #isBefore: boolean;
  readonly #hasEnded: (name: string) => Promise<void>;

  constructor(
    name: string,
    parts: {
      readonly process: WorldProcess;
      readonly stage: Stage;
      readonly history: History;
      readonly isBefore?: boolean;
      readonly hasEnded?: (name: string) => Promise<void>;
    },
  ) {
    this.name = name;
    this.process = parts.process;
    this.#stage = parts.stage;
    this.#history = parts.history;
    this.#isBefore = parts.isBefore ?? false;
    this.#hasEnded = parts.hasEnded ?? (async () => {});
  }

  /** Resolves when another actor has heard of all that it asked. */
  async after(name: string): Promise<void> {
    await this.#hasEnded(name);
  }

  /** The same, and until then its process is frozen: its monotonic clock stands still meanwhile. */
  async frozenUntilAfter(name: string): Promise<void> {
    const since = this.now();
    await this.after(name);
    this.process.standStill(this.now() - since);
  }

  /** Lets time pass, for everybody: when it does is a matter of choice. */
  async pass(ms: number): Promise<void> {
    if (this.#isBefore) this.#stage.time.now += ms;
    else await this.#stage.pass(this.name, ms);
  }

  /** The instant, epoch ms. */
  protected now(): number {
    return this.#stage.time.now;
  }

  /** Undefined = it was refused, or failed. */
  protected async ask<Value>(
    about: About,
    work: (call: Call) => Promise<Value>,
  ): Promise<Value | undefined> {
    if (!this.#isBefore) await this.#stage.turn(this.process, this.name);
    const { time, events } = this.#stage;
    const call: Call = {
      tags: [],
      ...about,
      actor: this.name,
      start: this.#isBefore ? -1 : events.length,
      startAt: time.now,
      end: Number.POSITIVE_INFINITY,
      endAt: Number.POSITIVE_INFINITY,
      heard: 'unknown',
      code: 'nothing heard',
      deliveries: [],
      answer: 'done',
    };
    this.#history.calls.push(call);
    const heard = await outcomeOf(work(call));
    call.end = this.#isBefore ? -1 : events.length;
    call.endAt = time.now;
    if ('value' in heard) {
      call.heard = 'done';
      return heard.value;
    }
    const { error } = heard;
    call.heard = heardOf(error);
    call.code = error instanceof BrokerError ? error.code : String((error as Error).stack);
    return undefined;
  }
}

function heardOf(error: unknown): Call['heard'] {
  if (!(error instanceof BrokerError)) return 'failed';
  return error.code === 'ServiceTimeout' ? 'unknown' : 'refused';
}

const paths = new Map<string, EntityPath>();

/** A path, read once. */
export function pathOf(text: string): EntityPath {
  const known = paths.get(text) ?? parseEntityPath(text);
  paths.set(text, known);
  return known;
}
