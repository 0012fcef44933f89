import type { Consumer } from '../domain/consumers/consumer.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { SubQueue } from '../domain/entities/entity-path.ts';
import type { LockedMessage } from '../domain/messages/message.ts';

/** Names a consumer. */
export interface ConsumerReference {
  /** The key of the entity. */
  readonly entityKey: string;
  readonly entityId: string;
  /** The key of the consumer among those of the entity; see `consumerKey`. */
  readonly consumer: string;
}

/** What one call of a target carries. */
export interface Batch {
  readonly entity: Entity;
  readonly consumer: Consumer;
  /** The session whose messages they are, in order; absent where the entity has no sessions. */
  readonly sessionId?: string;
  /** At least one. */
  readonly messages: readonly LockedMessage[];
}

/** What is to become of one message that the target did not complete. */
export interface Failure {
  readonly sequenceNumber: bigint;
  readonly action:
    | { readonly kind: 'abandon'; readonly delayMs?: number }
    | { readonly kind: 'deadLetter'; readonly reason?: string; readonly description?: string }
    | { readonly kind: 'defer' };
}

/** The result of one call. */
export type Reply =
  /** The target has done its work; messages without a failure are complete. */
  | { readonly kind: 'answered'; readonly failures: readonly Failure[] }
  /** The target failed, ran out of time, or its answer makes no sense: the delivery counts for every message. */
  | { readonly kind: 'failed'; readonly error: string }
  /** The target was not called: no delivery counts, and the consumer pauses. */
  | {
      readonly kind: 'unavailable';
      /** `throttled` is over soon; `missing` and `forbidden` need somebody to do something. */
      readonly why: 'throttled' | 'missing' | 'forbidden';
      readonly error: string;
    }
  /** The batch is too large for one call; nothing was called. */
  | { readonly kind: 'tooLarge'; readonly error: string };

/** Why a message is dead-lettered without a call. */
export interface Refusal {
  readonly reason: string;
  readonly description: string;
}

/** Calls the targets of consumers. */
export interface Targets {
  /** Why no target may get a message of a sub-queue; undefined = it may. */
  refusalOf(message: LockedMessage, subQueue: SubQueue): Refusal | undefined;
  /** Calls the target of a batch's consumer; after the consumer's `timeoutMs` it has failed. Never throws. */
  call(batch: Batch): Promise<Reply>;
}

/** The last thing that went wrong with a consumer, until a call succeeds. */
export interface ConsumerFault {
  /** Epoch ms. */
  readonly at: number;
  /** One sentence. */
  readonly error: string;
}

/** Calls that a former owner of the lease may still have under way. */
export interface FormerCalls {
  readonly calls: number;
  /** The latest end of these calls, epoch ms. */
  readonly until: number;
}

/** Messages that a consumer with a rate may still push. */
export interface RateLeft {
  readonly messages: number;
  /** Epoch ms. */
  readonly at: number;
}

/** The time for which a target is not called, after calls that could not be made. */
export interface Pause {
  /** Epoch ms. */
  readonly until: number;
  /** Calls in a row that could not be made. */
  readonly tries: number;
}

/** Who works for a consumer, and how it goes. */
export interface ConsumerState {
  readonly lease?: {
    /** The random name of one run of a worker. */
    readonly owner: string;
    /** When the lease ends unless it is renewed, epoch ms. */
    readonly until: number;
    /** Calls that the owner may have under way: at most as many, and until the end of the lease and one call more. */
    readonly calls: number;
    /** How long one of them may take, ms. */
    readonly timeoutMs: number;
  };
  /** How often the lease was taken. */
  readonly turn: number;
  /** By former owner. */
  readonly formerCalls: Readonly<Record<string, FormerCalls>>;
  /** Whether something arrived since the owner last looked, so that it looks again before it ends. */
  readonly isWoken: boolean;
  /** Set while the target cannot be called. */
  readonly pause?: Pause;
  readonly rate?: RateLeft;
  readonly fault?: ConsumerFault;
}

/** What is wrong with a consumer. */
export type Trouble = Pick<ConsumerState, 'fault' | 'pause'>;

/** What a worker stores when it ends. */
export type Released = Trouble &
  Pick<ConsumerState, 'rate'> & {
    /** Calls that are still under way; absent = none. */
    readonly formerCalls?: FormerCalls;
  };

/**
 * Keeps the states of consumers, each of which one worker at a time owns. Every write is conditional on the lease as
 * its worker knows it: neither a worker that was frozen nor a copy of a write that arrives late changes anything. All
 * methods throw ServiceBusy and ServiceTimeout.
 */
export interface ConsumerStates {
  /** The state now; undefined = there is no such consumer. One read unit. */
  read(of: ConsumerReference): Promise<ConsumerState | undefined>;
  /**
   * Takes the lease if the stored one is still that of `seen`. The state has no pause then, and is not woken. False =
   * another worker has taken it, or the consumer is gone. One write unit.
   */
  take(
    of: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
    seen: ConsumerState,
    formerCalls: ConsumerState['formerCalls'],
  ): Promise<boolean>;
  /**
   * Renews the lease, whose end must grow with each renewal; returns the state. The trouble of the consumer is then
   * what is given. Undefined = it is lost. One write unit.
   */
  renew(
    of: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
    trouble: Trouble,
  ): Promise<ConsumerState | undefined>;
  /**
   * Ends the lease, whose end is `until`, unless something arrived since the owner last looked: then the state is not
   * woken any more, and the lease goes on, 1 ms longer. One write unit, two if something arrived.
   */
  release(
    of: ConsumerReference,
    lease: Pick<NonNullable<ConsumerState['lease']>, 'owner' | 'until'>,
    released: Released,
  ): Promise<'released' | 'woken' | 'lost'>;
  /** Notes that the calls of a former owner have ended. One write unit. */
  endFormerCalls(of: ConsumerReference, owner: string): Promise<void>;
  /** Lets the owner look again before it ends. False = it does not own the lease any more. One write unit. */
  markWoken(of: ConsumerReference, owner: string): Promise<boolean>;
}
