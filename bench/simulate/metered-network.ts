import type { Machine } from '../../test/simulation/machines/machine.ts';
import type { Random } from '../../test/simulation/machines/random.ts';
import type { Timeline } from '../../test/simulation/machines/timeline.ts';
import { throttled } from '../../test/simulation/tables/failures.ts';
import type { Arrived, Network, NetworkRequest } from '../../test/simulation/tables/network.ts';
import { collectionsOf, contentOf } from './item-collections.ts';
import { drawLatency } from './latencies.ts';
import type { Measures } from './measures.ts';
import type { Quotas } from './quotas.ts';
import { RateLimit } from './rate-limit.ts';

/** The latency of a refusal, ms. It is short, because nothing is read or written. */
const REFUSAL_MS = 2;

type Kind = 'read' | 'write' | 'transaction';

/** The limit of units of each table; each item collection has its own limit in addition. */
export class TableUnits {
  readonly #left: Readonly<Record<'read' | 'write', RateLimit>>;

  constructor({ tableUnits }: Quotas, { timeline }: { readonly timeline: Timeline }) {
    const now = () => timeline.now;
    this.#left = {
      read: new RateLimit(tableUnits, tableUnits, now),
      write: new RateLimit(tableUnits, tableUnits, now),
    };
  }

  of(kind: Kind): RateLimit {
    return this.#left[unitKind(kind)];
  }
}

/** What the network of one process needs. */
export interface MeteredNetworkParts {
  readonly timeline: Timeline;
  readonly machine: Machine;
  readonly random: Random;
  readonly tableUnits: TableUnits;
  readonly measures: Measures;
}

/** The network between one process and the tables: adds the latency of the cloud, and counts units. */
export class MeteredNetwork implements Network {
  readonly #parts: MeteredNetworkParts;

  constructor(parts: MeteredNetworkParts) {
    this.#parts = parts;
  }

  random(): number {
    return this.#parts.random.fraction();
  }

  pause(ms: number): Promise<void> {
    const { timeline, machine } = this.#parts;
    return new Promise((resolve) => machine.deliver(timeline.now + ms, resolve));
  }

  carry(request: NetworkRequest, arrive: () => Arrived): Promise<object> {
    const { timeline, machine, random } = this.#parts;
    const kind = kindOf(request.name);
    const ms = drawLatency(random, kind);
    const thereMs = Math.floor(ms / 2);
    return new Promise((resolve, reject) => {
      const hear = (delayMs: number, tell: () => void) =>
        machine.deliver(timeline.now + delayMs, tell);
      timeline.after(thereMs, () => {
        let arrived: Arrived;
        try {
          arrived = this.#atTables(request, kind, arrive);
        } catch (error) {
          hear(REFUSAL_MS, () => reject(error));
          return;
        }
        if ('answer' in arrived) {
          const { answer } = arrived;
          this.#count(kind, request.input, answer);
          hear(ms - thereMs, () => resolve(answer));
          return;
        }
        // A transaction holds its items for half of the time that is left.
        const heldMs = Math.floor((ms - thereMs) / 2);
        const { finish } = arrived;
        timeline.after(heldMs, () => {
          const answer = finish();
          this.#count(kind, request.input, answer);
          hear(ms - thereMs - heldMs, () => resolve(answer));
        });
      });
    });
  }

  #atTables({ input }: NetworkRequest, kind: Kind, arrive: () => Arrived): Arrived {
    const { tableUnits, measures } = this.#parts;
    measures.requests++;
    if (!tableUnits.of(kind).hasLeft) {
      measures.refuse(`table, ${unitKind(kind)} units`);
      throw throttled();
    }
    try {
      return arrive();
    } catch (error) {
      this.#countRefusal(kind, input, error as Failure);
      throw error;
    }
  }

  #count(kind: Kind, input: object, answer: Answer): void {
    const { tableUnits, measures } = this.#parts;
    const units = [answer.ConsumedCapacity ?? []]
      .flat()
      .reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
    measures.spend(unitKind(kind), units, collectionsOf(input));
    tableUnits.of(kind).spend(units);
    const left = answer.UnprocessedItems ?? answer.UnprocessedKeys ?? {};
    if (Object.keys(left).length === 0) return;
    for (const pk of collectionsOf({ RequestItems: left })) this.#countThrottle(kind, pk);
  }

  #countRefusal(kind: Kind, input: object, { name, CancellationReasons }: Failure): void {
    const { tableUnits, measures } = this.#parts;
    const collections = collectionsOf(input);
    if (name === 'ThrottlingException') {
      this.#countThrottle(kind, collections[0] ?? '');
      return;
    }
    const reasons = CancellationReasons ?? [];
    for (const [i, { Code }] of reasons.entries()) {
      if (Code === 'ThrottlingError') this.#countThrottle(kind, collections[i] ?? '');
    }
    if (reasons.some(({ Code }) => Code === 'ThrottlingError')) return;
    measures.lostRaces++;
    if (name === 'TransactionConflictException') return;
    const units = kind === 'transaction' ? 2 * collections.length : 1;
    measures.spend('write', units, collections);
    tableUnits.of('write').spend(units);
  }

  #countThrottle(kind: Kind, pk: string): void {
    this.#parts.measures.refuse(`${contentOf(pk)}, ${unitKind(kind)} units`);
  }
}

interface Answer {
  readonly ConsumedCapacity?: Consumed | readonly Consumed[];
  readonly UnprocessedItems?: object;
  readonly UnprocessedKeys?: object;
}

interface Consumed {
  readonly CapacityUnits?: number;
}

interface Failure {
  readonly name: string;
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

function kindOf(name: string): Kind {
  if (name.startsWith('Transact')) return 'transaction';
  return /^(?:Get|BatchGet|Query)/.test(name) ? 'read' : 'write';
}

function unitKind(kind: Kind): 'read' | 'write' {
  return kind === 'read' ? 'read' : 'write';
}
