import type { Broker } from '../broker/broker.ts';
import type { EntityStore } from '../broker/ports/entities.ts';
import type { RandomSource } from '../domain/clock.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { SubQueue } from '../domain/entities/entity-path.ts';
import type { AnswerLimit } from '../domain/messages/answer-limit.ts';
import type { LeaseDependencies } from './lease.ts';
import type { ConsumerFault, ConsumerReference, Targets } from './ports.ts';

/** What a worker works with. */
export interface WorkerDependencies extends LeaseDependencies {
  readonly broker: Pick<
    Broker,
    'receive' | 'settle' | 'renewLocks' | 'acceptSession' | 'renewSession' | 'releaseSession'
  >;
  readonly entities: Pick<EntityStore, 'find' | 'read' | 'forget'>;
  readonly targets: Targets;
  readonly random: RandomSource;
  /**
   * Forgets where this process found no messages in a queue: what others have stored meanwhile may lie there. Called
   * before each look that may be the last.
   */
  readonly forgetHints: (entity: Entity, subQueue: SubQueue) => void;
  /** Lets the consumers of an entity be woken at an instant, epoch ms, or a little later. */
  readonly remind: (entity: Entity, at: number) => Promise<void>;
  /**
   * Wakes the other consumers of a consumer's queue: they may push what this one gives back. A read unit each, and none
   * where there are none. Throws ServiceBusy, ServiceTimeout.
   */
  readonly wakeOthers: (entity: Entity, of: ConsumerReference) => Promise<void>;
  /** Starts another worker for a consumer, which goes on where this one ends. */
  readonly startAnother: (of: ConsumerReference) => Promise<void>;
  /** Hears of a fault that begins. */
  readonly tellFault: (of: ConsumerReference, fault: ConsumerFault) => void;
  readonly settings: WorkerSettings;
  /** Calls a listener when users move the clock; returns what ends that. Absent = they cannot. */
  readonly onClockMove?: (listener: () => void) => () => void;
}

/** Where the worker runs decides what its waiting costs. Times in ms. */
export interface WorkerSettings {
  /** How long a worker without messages waits for the next ones. */
  readonly lingerMs: number;
  /** How long a worker waits for messages that are expected, or for the end of a pause; others wake it later. */
  readonly waitMsMax: number;
  /** How long a consumer pauses at most whose target cannot be called. */
  readonly pauseMsMax: number;
  /** How long a worker that must end waits for its calls. */
  readonly graceMs: number;
  /** Bytes of messages that a worker holds at most before it claims more. */
  readonly heldBytesMax: number;
  /** What a claim may take, so that it fits one call. */
  readonly claim: AnswerLimit;
}

/** When a worker must end. */
export interface WorkerTime {
  /** When its process ends, monotonic ms: calls that could last longer are left to the next worker. */
  readonly endsAt: number;
  /** Aborted when the process closes: the worker claims no more. */
  readonly signal: AbortSignal;
}
