import { type Composition, compose } from '../../../lambdas/http/compose.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Tier } from '../../../shared/domain/entities/tier.ts';
import { pause } from '../../../shared/domain/scheduler.ts';
import type { TableNames } from '../../../shared/storage/schema/tables.ts';
import { simulatedClients } from '../tables/client.ts';
import type { SimulatedDatabase } from '../tables/database.ts';
import { synchronousCompression } from './compression.ts';
import { Machine } from './machine.ts';
import { type NetworkFaults, type RequestFault, SimulatedNetwork } from './network.ts';
import type { Random } from './random.ts';
import type { Timeline } from './timeline.ts';

export const TABLES: TableNames = { entities: 'entities', messages: 'messages' };
export const NAMESPACE = 'simulated';
/** The attempts of a request, as in deployed processes. */
const ATTEMPTS_MAX = 3;
/** How long a function finishes background work after its answer, ms, as deployed ones do. */
const FINISH_MS_MAX = 1000;

export interface ProcessSpec {
  readonly name: string;
  /** A server serves concurrent calls; a function serves one call at a time and is frozen between calls. */
  readonly kind: 'server' | 'function';
  /** The wall clock minus the true time, ms. */
  readonly aheadMs: number;
  /** Whether its monotonic clock stops while it is frozen. */
  readonly standsStill: boolean;
  /** The same in all processes of a scenario. */
  readonly leaseMs: number;
  readonly tier: Tier;
}

/** The result of a call, as its caller knows it. */
export type Result<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** Certainly not done, according to the error code. */
  | { readonly kind: 'refused'; readonly error: BrokerError }
  /** It may be done: the answer says so, or there is none. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** Any other error, which is always a violation. */
  | { readonly kind: 'failed'; readonly error: unknown };

export interface ProcessDependencies {
  readonly timeline: Timeline;
  readonly database: SimulatedDatabase;
  readonly random: Random;
  readonly faults: () => NetworkFaults;
  readonly count: (fault: RequestFault) => void;
  readonly trace?: ((process: string, line: string) => void) | undefined;
}

/** A process of the namespace: a composition of the product on its own machine. */
export class SimulatedProcess {
  readonly spec: ProcessSpec;
  readonly #dependencies: ProcessDependencies;
  readonly #calls = new Set<(why: string) => void>();
  #machine: Machine;
  #composition: Composition;
  #starts = 0;
  #isBusy = false;
  #frozenUntil = 0;
  #faultCount = 0;

  constructor(spec: ProcessSpec, dependencies: ProcessDependencies) {
    this.spec = spec;
    this.#dependencies = dependencies;
    this.#machine = new Machine(dependencies.timeline, spec);
    this.#composition = this.#start();
  }

  /** Whether it is a function that is serving a call. */
  get isBusy(): boolean {
    return this.spec.kind === 'function' && this.#isBusy;
  }

  /** How many of its requests had faults so far. */
  get faultCount(): number {
    return this.#faultCount;
  }

  /** Its wall clock, epoch ms. */
  clockNow(): number {
    return this.#machine.clock.now();
  }

  /** Runs `work` in the process and returns its result. */
  async call<Value>(work: (composition: Composition) => Promise<Value>): Promise<Result<Value>> {
    const composition = this.#composition;
    const machine = this.#machine;
    if (this.spec.kind === 'function') {
      this.#isBusy = true;
      if (this.#dependencies.timeline.now >= this.#frozenUntil) machine.thaw();
    }
    return await new Promise((resolve) => {
      const finish = (result: Result<Value>) => {
        if (this.#calls.delete(crashed)) resolve(result);
      };
      const crashed = (why: string) => finish({ kind: 'unknown', why });
      this.#calls.add(crashed);
      const run = async () => {
        const result = await resultOf(work(composition));
        if (this.spec.kind === 'function') {
          // A function finishes background work for a limited time, and is then frozen.
          await Promise.race([composition.idle(), pause(machine, FINISH_MS_MAX)]);
          if (machine === this.#machine) {
            this.#isBusy = false;
            machine.freeze();
          }
        }
        finish(result);
      };
      machine.deliver(this.#dependencies.timeline.now, () => void run());
    });
  }

  /** Freezes the process for a time, also in the middle of a call. */
  freeze(ms: number): void {
    const { timeline } = this.#dependencies;
    const machine = this.#machine;
    machine.freeze();
    this.#frozenUntil = Math.max(this.#frozenUntil, timeline.now + ms);
    timeline.after(ms, () => {
      if (timeline.now < this.#frozenUntil) return;
      if (this.spec.kind === 'server' || this.#isBusy) machine.thaw();
    });
  }

  /** Ends the process at once and starts a new one, without its memory, in its place. */
  crash(): void {
    this.#machine.crash();
    this.#isBusy = false;
    this.#frozenUntil = 0;
    const { aheadMs } = this.#machine;
    this.#machine = new Machine(this.#dependencies.timeline, { ...this.spec, aheadMs });
    this.#composition = this.#start();
    for (const crashed of [...this.#calls]) crashed('the process ended');
  }

  /** Sets the difference of the wall clock to the true time, ms. */
  setClock(aheadMs: number): void {
    this.#machine.aheadMs = aheadMs;
  }

  #start(): Composition {
    const { timeline, database, random, faults, count, trace } = this.#dependencies;
    const { name, leaseMs, tier } = this.spec;
    const own = random.fork(`${name}.${this.#starts++}`);
    const machine = this.#machine;
    const network = new SimulatedNetwork({
      timeline,
      random: own.fork('network'),
      endpoint: machine,
      faults,
      count: (fault) => {
        if (fault !== 'slow') this.#faultCount++;
        count(fault);
      },
      trace:
        trace &&
        ((request, fault, result) =>
          trace(
            name,
            `${describeRequest(request)} ${fault === 'plain' ? '' : `${fault} `}${result}`,
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
      compression: synchronousCompression,
      rootKey: 'none',
      leaseMs,
      receiveWaitMsMax: 60_000,
      reportFault: (error) => trace?.(name, `after an answer: ${String(error)}`),
    });
  }
}

/** Error codes of operations that may be done. */
const UNKNOWN_CODES = new Set(['ServiceTimeout']);

async function resultOf<Value>(work: Promise<Value>): Promise<Result<Value>> {
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
