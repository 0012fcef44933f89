import { type Composition, compose } from '../../../lambdas/http/compose.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import { pause } from '../../../shared/domain/scheduler.ts';
import type { TableNames } from '../../../shared/storage/schema/tables.ts';
import { simulatedClients } from '../tables/client.ts';
import type { SimulatedDatabase } from '../tables/database.ts';
import { compressionAtOnce } from './compression.ts';
import { Machine } from './machine.ts';
import { type NetworkFaults, type RequestFate, SimulatedNetwork } from './network.ts';
import type { Random } from './random.ts';
import type { Timeline } from './timeline.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
export const NAMESPACE = 'simulated';
/** Deployed processes try a request so often. */
const ATTEMPTS_MAX = 3;
/** As the functions do (`FINISH_MS_MAX`). */
const FINISH_MS_MAX = 1000;

export interface ProcessSpec {
  readonly name: string;
  /** A server works on all that it is asked, all the time; a function on one call, and is frozen between calls. */
  readonly kind: 'server' | 'function';
  /** How far its wall clock is ahead of the true time, ms. */
  readonly aheadMs: number;
  /** Whether its monotonic clock stands still while it is frozen. */
  readonly standsStill: boolean;
  /** The same in all processes of a scenario. */
  readonly leaseMs: number;
  readonly tier: Tier;
}

/** What a caller heard of a call. */
export type Heard<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** Surely not done: a refusal whose code says so. */
  | { readonly kind: 'refused'; readonly error: BrokerError }
  /** Perhaps done: the answer says so, or there is none. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** Something that is no refusal: never right. */
  | { readonly kind: 'failed'; readonly error: unknown };

export interface ProcessParts {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly faults: () => NetworkFaults;
  readonly count: (fate: RequestFate) => void;
  readonly trace?: ((process: string, line: string) => void) | undefined;
}

/** A process of the namespace: a whole composition over a machine of its own. */
export class SimulatedProcess {
  readonly spec: ProcessSpec;
  readonly #parts: ProcessParts;
  readonly #calls = new Set<(why: string) => void>();
  #machine: Machine;
  #composition: Composition;
  #starts = 0;
  #isBusy = false;
  #frozenUntil = 0;
  #wrongs = 0;

  constructor(spec: ProcessSpec, parts: ProcessParts) {
    this.spec = spec;
    this.#parts = parts;
    this.#machine = new Machine(parts.timeline, spec);
    this.#composition = this.#start();
  }

  /** Whether a call has to go elsewhere. */
  get isBusy(): boolean {
    return this.spec.kind === 'function' && this.#isBusy;
  }

  /** How many of its requests have gone wrong so far. */
  get wrongs(): number {
    return this.#wrongs;
  }

  /** Its wall clock, epoch ms. */
  clockNow(): number {
    return this.#machine.clock.now();
  }

  /** Has the process do something for a caller. */
  async call<Value>(work: (composition: Composition) => Promise<Value>): Promise<Heard<Value>> {
    const composition = this.#composition;
    const machine = this.#machine;
    if (this.spec.kind === 'function') {
      this.#isBusy = true;
      if (this.#parts.timeline.now >= this.#frozenUntil) machine.thaw();
    }
    return await new Promise((resolve) => {
      const hear = (heard: Heard<Value>) => {
        if (this.#calls.delete(crashed)) resolve(heard);
      };
      const crashed = (why: string) => hear({ kind: 'unknown', why });
      this.#calls.add(crashed);
      const carryOut = async () => {
        const heard = await hearing(work(composition));
        if (this.spec.kind === 'function') {
          // A function finishes what is left to do, for a while, and is then frozen.
          await Promise.race([composition.idle(), pause(machine, FINISH_MS_MAX)]);
          if (machine === this.#machine) {
            this.#isBusy = false;
            machine.freeze();
          }
        }
        hear(heard);
      };
      machine.deliver(this.#parts.timeline.now, () => void carryOut());
    });
  }

  /** Freezes the process for a while, whatever it is at. */
  freeze(ms: number): void {
    const { timeline } = this.#parts;
    const machine = this.#machine;
    machine.freeze();
    this.#frozenUntil = Math.max(this.#frozenUntil, timeline.now + ms);
    timeline.after(ms, () => {
      if (timeline.now < this.#frozenUntil) return;
      if (this.spec.kind === 'server' || this.#isBusy) machine.thaw();
    });
  }

  /** Ends the process at once, and starts another one in its place, with an empty memory. */
  crash(): void {
    this.#machine.crash();
    this.#isBusy = false;
    this.#frozenUntil = 0;
    const { aheadMs } = this.#machine;
    this.#machine = new Machine(this.#parts.timeline, { ...this.spec, aheadMs });
    this.#composition = this.#start();
    for (const crashed of [...this.#calls]) crashed('the process ended');
  }

  /** Sets the wall clock. */
  setClock(aheadMs: number): void {
    this.#machine.aheadMs = aheadMs;
  }

  #start(): Composition {
    const { timeline, database, random, faults, count, trace } = this.#parts;
    const { name, leaseMs, tier } = this.spec;
    const own = random.fork(`${name}.${this.#starts++}`);
    const machine = this.#machine;
    const network = new SimulatedNetwork({
      timeline,
      random: own.fork('network'),
      endpoint: machine,
      faults,
      count: (fate) => {
        if (fate !== 'slow') this.#wrongs++;
        count(fate);
      },
      trace:
        trace &&
        ((request, fate, result) =>
          trace(
            name,
            `${describeRequest(request)} ${fate === 'plain' ? '' : `${fate} `}${result}`,
          )),
    });
    return compose({
      ...simulatedClients(database, network, { maxAttempts: ATTEMPTS_MAX }),
      tables: TABLES,
      namespace: NAMESPACE,
      tier,
      clock: machine.clock,
      random: own.fork('own'),
      scheduler: machine,
      compression: compressionAtOnce,
      rootKey: 'none',
      leaseMs,
      receiveWaitMsMax: 60_000,
      reportFault: (error) => trace?.(name, `behind an answer: ${String(error)}`),
    });
  }
}

/** Codes after which a caller does not know whether it was done. */
const UNKNOWN_CODES = new Set(['ServiceTimeout']);

async function hearing<Value>(work: Promise<Value>): Promise<Heard<Value>> {
  try {
    return { kind: 'done', value: await work };
  } catch (error) {
    if (!(error instanceof BrokerError)) return { kind: 'failed', error };
    return UNKNOWN_CODES.has(error.code)
      ? { kind: 'unknown', why: error.code }
      : { kind: 'refused', error };
  }
}

interface KeyedInput {
  readonly Key?: { readonly pk?: { readonly S?: string }; readonly sk?: { readonly S?: string } };
  readonly Item?: KeyedInput['Key'];
  readonly ExpressionAttributeValues?: Readonly<Record<string, { readonly S?: string }>>;
  readonly TransactItems?: readonly Readonly<Record<string, KeyedInput>>[];
  readonly RequestItems?: Readonly<Record<string, unknown>>;
  readonly UpdateExpression?: string;
}

/** A request as histories show it. */
function describeRequest({
  name,
  input,
  attempt,
}: {
  name: string;
  input: object;
  attempt: number;
}) {
  const again = attempt > 1 ? ` (try ${attempt})` : '';
  return `${name.replace(/(Item)?s?Command$/, '')}${again} ${describeInput(input as KeyedInput)}`;
}

function describeInput(input: KeyedInput): string {
  const key = input.Key ?? input.Item;
  if (key?.pk?.S !== undefined) {
    const update = input.UpdateExpression === undefined ? '' : ` ${input.UpdateExpression}`;
    return `${key.pk.S} ${key.sk?.S ?? ''}${update}`;
  }
  if (input.TransactItems !== undefined) {
    const items = input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([verb, one]) => `${verb} ${describeInput(one)}`),
    );
    return `[${items.join('; ')}]`;
  }
  const values = Object.values(input.ExpressionAttributeValues ?? {});
  return values
    .map(({ S }) => S ?? '')
    .filter(Boolean)
    .join(' ');
}
