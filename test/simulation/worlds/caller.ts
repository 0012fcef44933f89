import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { resultOf } from '../../../shared/domain/result-of.ts';
import type { Delivery } from './delivery.ts';
import type { Call, CallKind, History } from './history.ts';
import type { WorldProcess } from './process.ts';
import type { Stage } from './stage.ts';

/** The description of an operation. */
export interface CallSpec {
  readonly kind: CallKind;
  readonly path: string;
  readonly text: string;
  readonly tags?: readonly string[];
  readonly delivery?: Delivery;
  readonly session?: string;
  readonly mayExpire?: boolean;
}

/** Calls the operations of a process and records their outcomes in the history. Never throws their errors. */
export class Caller {
  readonly name: string;
  readonly process: WorldProcess;
  readonly #stage: Stage;
  readonly #history: History;
  /** Whether its operations belong to the set-up, before the first choice. */
  readonly #isBefore: boolean;
  readonly #hasEnded: (name: string) => Promise<void>;
  /** Whether operations begin in the present step, and need no choice of their own. */
  #isAtOnce = false;

  constructor(
    name: string,
    settings: {
      readonly process: WorldProcess;
      readonly stage: Stage;
      readonly history: History;
      readonly isBefore?: boolean;
      readonly hasEnded?: (name: string) => Promise<void>;
    },
  ) {
    this.name = name;
    this.process = settings.process;
    this.#stage = settings.stage;
    this.#history = settings.history;
    this.#isBefore = settings.isBefore ?? false;
    this.#hasEnded = settings.hasEnded ?? (async () => {});
  }

  /** Resolves when another actor's script has ended. */
  async after(name: string): Promise<void> {
    await this.#hasEnded(name);
  }

  /** The same; until then the process is frozen, and its monotonic clock stops. */
  async frozenUntilAfter(name: string): Promise<void> {
    const since = this.now();
    await this.after(name);
    this.process.standStill(this.now() - since);
  }

  /** Begins operations in one step, as calls that arrive together; only for actors named in `sharesProcess`. */
  async atOnce(...operations: readonly (() => Promise<unknown>)[]): Promise<void> {
    await this.#stage.turn(this.process, this.name);
    this.#isAtOnce = true;
    const all = operations.map((operation) => operation());
    this.#isAtOnce = false;
    await Promise.all(all);
  }

  /** Lets time pass in the whole world; the explorer chooses when. */
  async pass(ms: number): Promise<void> {
    if (this.#isBefore) this.#stage.time.now += ms;
    else await this.#stage.pass(this.name, ms);
  }

  /** The time of the world, epoch ms. */
  protected now(): number {
    return this.#stage.time.now;
  }

  /** Aborts an operation; the explorer chooses when. */
  protected abortLater(call: Call, abort: AbortController): void {
    this.#stage.abort(this.process, this.name, () => {
      call.abortedAt = this.#stage.events.length;
      abort.abort();
    });
  }

  /** Runs an operation and records its outcome. Returns undefined if it was refused or failed. */
  protected async ask<Value>(
    spec: CallSpec,
    work: (call: Call) => Promise<Value>,
  ): Promise<Value | undefined> {
    const needsTurn = !this.#isBefore && !this.#isAtOnce;
    if (needsTurn) await this.#stage.turn(this.process, this.name);
    const { time, events } = this.#stage;
    const call: Call = {
      tags: [],
      ...spec,
      actor: this.name,
      start: this.#isBefore ? -1 : events.length,
      startAt: time.now,
      end: Number.POSITIVE_INFINITY,
      endAt: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      code: 'no answer',
      deliveries: [],
      answer: 'done',
    };
    this.#history.calls.push(call);
    const result = await resultOf(work(call));
    call.end = this.#isBefore ? -1 : events.length;
    call.endAt = time.now;
    if ('value' in result) {
      call.outcome = 'done';
      return result.value;
    }
    const { error } = result;
    call.outcome = outcomeOfError(error);
    call.code = error instanceof BrokerError ? error.code : String((error as Error).stack);
    return undefined;
  }
}

function outcomeOfError(error: unknown): Call['outcome'] {
  if (!(error instanceof BrokerError)) return 'failed';
  return error.code === 'ServiceTimeout' ? 'unknown' : 'refused';
}

const paths = new Map<string, EntityPath>();

/** Parses a path, each text once. */
export function pathOf(text: string): EntityPath {
  const known = paths.get(text) ?? parseEntityPath(text);
  paths.set(text, known);
  return known;
}
