import type { NetworkFaults } from '../machines/network.ts';
import type { ProcessSpec } from '../machines/process.ts';

/**
 * The whole input of a run, as data: the same scenario gives the same run, event by event. A failing
 * scenario is shrunk by leaving out steps and faults, and saved as a file.
 */
export interface Scenario {
  /** The seed of all draws during the run: latencies, lost requests, the processes' own random numbers. */
  readonly seed: string;
  readonly processes: readonly ProcessSpec[];
  readonly entities: readonly EntitySpec[];
  readonly steps: readonly Step[];
  readonly faults: readonly Fault[];
  readonly network: NetworkFaults;
  /** The largest age of an eventually consistent read, ms. */
  readonly staleMsMax: number;
}

/** The settings that queues and subscriptions share. */
export interface DeliverySpec {
  readonly lockMs: number;
  readonly maxDeliveryCount: number;
  readonly requiresSession: boolean;
  readonly defaultTimeToLiveMs?: number;
  readonly deadLettersExpired: boolean;
  readonly forwardTo?: string;
  readonly forwardDeadLettersTo?: string;
}

export interface QueueSpec extends DeliverySpec {
  readonly kind: 'queue';
  readonly path: string;
  readonly partitioned: boolean;
  /** The duplicate detection window, ms; absent = no duplicate detection. */
  readonly detectionMs?: number;
}

export interface TopicSpec {
  readonly kind: 'topic';
  readonly path: string;
  readonly partitioned: boolean;
  readonly detectionMs?: number;
}

export interface SubscriptionSpec extends DeliverySpec {
  readonly kind: 'subscription';
  /** `topic/subscriptions/name`. */
  readonly path: string;
  readonly topic: string;
  /** The messages that the subscription gets. */
  readonly filter: 'all' | Colour;
}

export type EntitySpec = QueueSpec | TopicSpec | SubscriptionSpec;
export type ReceivableSpec = QueueSpec | SubscriptionSpec;

export const COLOURS = ['red', 'blue'] as const;
export type Colour = (typeof COLOURS)[number];

/** A message as a client sends it. */
export interface MessageSpec {
  /** The unique name of the message, with which its body begins. */
  readonly tag: string;
  readonly bytes: number;
  readonly colour: Colour;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  /** The id for duplicate detection. */
  readonly messageId?: string;
  readonly timeToLiveMs?: number;
  /** The time from the send until it is due, ms, for a scheduled message. */
  readonly delayMs?: number;
}

/** Which messages of a client an action concerns; `spent` = those whose lock is settled or lost. */
export type Which = 'oldest' | 'newest' | 'spent';
export type SettlementKind = 'complete' | 'abandon' | 'defer' | 'deadLetter';

export type Action =
  | { readonly kind: 'send'; readonly to: string; readonly messages: readonly MessageSpec[] }
  | {
      readonly kind: 'receive';
      /** The path, with its sub-queue. */
      readonly from: string;
      readonly mode: ReceiveMode;
      readonly max: number;
      readonly waitMs: number;
      /** When the client aborts the receive. */
      readonly abortAfterMs?: number;
    }
  | {
      readonly kind: 'settle';
      readonly from: string;
      readonly how: SettlementKind;
      readonly which: Which;
      readonly count: number;
      readonly delayMs?: number;
      readonly changesProperties: boolean;
    }
  | { readonly kind: 'renew'; readonly from: string; readonly which: Which; readonly count: number }
  | {
      readonly kind: 'accept';
      readonly from: string;
      readonly sessionId?: string;
      readonly waitMs: number;
    }
  | { readonly kind: 'renewSession'; readonly from: string }
  | { readonly kind: 'releaseSession'; readonly from: string }
  | { readonly kind: 'readState'; readonly from: string }
  | { readonly kind: 'setState'; readonly from: string; readonly state: string }
  | {
      readonly kind: 'peek';
      readonly from: string;
      readonly max: number;
      readonly sessionId?: string;
    }
  | { readonly kind: 'listSessions'; readonly from: string }
  | {
      readonly kind: 'receiveDeferred';
      readonly from: string;
      readonly mode: ReceiveMode;
      readonly count: number;
    }
  | { readonly kind: 'cancel'; readonly to: string; readonly count: number }
  | {
      readonly kind: 'transact';
      /** The path whose messages the transaction settles. */
      readonly from?: string;
      readonly how: SettlementKind;
      readonly count: number;
      readonly sends: readonly { readonly to: string; readonly messages: readonly MessageSpec[] }[];
      /** The transaction's idempotency id. */
      readonly identity?: string;
      /** How the client repeats the transaction, with its id, while it gets no answer or a retryable refusal. */
      readonly repeats?: readonly Repeat[];
    }
  | {
      readonly kind: 'operate';
      readonly from: string;
      readonly what: 'breakLock' | 'reactivate' | 'delete' | 'deadLetter';
      readonly count: number;
    }
  | { readonly kind: 'deleteMessages'; readonly from: string; readonly max: number }
  | { readonly kind: 'resubmit'; readonly from: string; readonly max: number }
  | { readonly kind: 'purge'; readonly from: string }
  | { readonly kind: 'update'; readonly entity: string; readonly lockMs: number }
  | { readonly kind: 'recreate'; readonly entity: string }
  | { readonly kind: 'sweep' };

/** One more attempt of an operation, some time after the previous one. */
export interface Repeat {
  readonly afterMs: number;
  readonly process: string;
}

/** The longest wait in a function, ms; deployed functions limit waits, too. */
const FUNCTION_WAIT_MS_MAX = 2000;

/** How long a receive or an accept waits, ms: less than `waitMs` if some processes are functions. */
export function waitOf({ processes }: Pick<Scenario, 'processes'>, waitMs: number): number {
  const hasFunctions = processes.some(({ kind }) => kind === 'function');
  return hasFunctions ? Math.min(waitMs, FUNCTION_WAIT_MS_MAX) : waitMs;
}

export type ReceiveMode = 'peekLock' | 'receiveAndDelete';

/** One action of a client, which begins at an instant, or later if its previous step is not finished. */
export interface Step {
  /** Ms after the start. */
  readonly at: number;
  readonly client: string;
  /** The process by name; if it is a busy function, another function serves the call. */
  readonly process: string;
  readonly action: Action;
}

/** A fault of a process. */
export type Fault =
  | { readonly at: number; readonly kind: 'freeze'; readonly process: string; readonly ms: number }
  | { readonly at: number; readonly kind: 'crash'; readonly process: string }
  /** From now on its wall clock is `aheadMs` ahead of the true time. */
  | {
      readonly at: number;
      readonly kind: 'clock';
      readonly process: string;
      readonly aheadMs: number;
    };

export const DEAD_LETTERS = '/$deadletterqueue';

/** The path of an entity, without its sub-queue. */
export function entityOf(path: string): string {
  return path.endsWith(DEAD_LETTERS) ? path.slice(0, -DEAD_LETTERS.length) : path;
}

export function isDeadLetterPath(path: string): boolean {
  return path.endsWith(DEAD_LETTERS);
}

/** The largest lead of any clock of a scenario over the true time, ms. */
export function mostAheadMs(scenario: Scenario): number {
  return Math.max(...aheads(scenario));
}

/** The largest skew between two clocks of a scenario, or between a clock and the true time, ms. */
export function clockSkewMs(scenario: Scenario): number {
  return Math.ceil(Math.max(...aheads(scenario)) - Math.min(...aheads(scenario)));
}

function aheads({ processes, faults }: Scenario): readonly number[] {
  const set = faults.map((fault) => (fault.kind === 'clock' ? fault.aheadMs : 0));
  return [0, ...processes.map(({ aheadMs }) => aheadMs), ...set];
}
