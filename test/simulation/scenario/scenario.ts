import type { NetworkFaults } from '../engine/network.ts';
import type { ProcessSpec } from '../engine/process.ts';

/**
 * Everything that a run is made from, as data: the same scenario gives the same run, event by event. A
 * failing one is shrunk by leaving out steps and faults, and kept as a file.
 */
export interface Scenario {
  /** Of what is drawn while it runs: latencies, lost requests, the processes' own random numbers. */
  readonly seed: string;
  readonly processes: readonly ProcessSpec[];
  readonly entities: readonly EntitySpec[];
  readonly steps: readonly Step[];
  readonly faults: readonly Fault[];
  readonly network: NetworkFaults;
  /** How old an eventually consistent read may be at most, ms. */
  readonly staleMsMax: number;
}

/** What a queue and a subscription have in common. */
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
  /** How long duplicates are known, ms; absent = they are not. */
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
  /** The messages that it gets. */
  readonly filter: 'all' | Colour;
}

export type EntitySpec = QueueSpec | TopicSpec | SubscriptionSpec;
export type ReceivableSpec = QueueSpec | SubscriptionSpec;

export const COLOURS = ['red', 'blue'] as const;
export type Colour = (typeof COLOURS)[number];

/** A message as a client sends it. */
export interface MessageSpec {
  /** Its body begins with it; no other message of the run has it. */
  readonly tag: string;
  readonly bytes: number;
  readonly colour: Colour;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  /** What it is known by where duplicates are detected. */
  readonly messageId?: string;
  readonly timeToLiveMs?: number;
  /** Scheduled for so long after it is sent. */
  readonly delayMs?: number;
}

/** Which of the messages that a client holds. */
export type Which = 'oldest' | 'newest' | 'spent';
export type SettlementKind = 'complete' | 'abandon' | 'defer' | 'deadLetter';

export type Action =
  | { readonly kind: 'send'; readonly to: string; readonly messages: readonly MessageSpec[] }
  | {
      readonly kind: 'receive';
      /** With its sub-queue. */
      readonly from: string;
      readonly mode: ReceiveMode;
      readonly max: number;
      readonly waitMs: number;
      /** The client gives up waiting. */
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
      /** Settles messages that the client holds of it. */
      readonly from?: string;
      readonly how: SettlementKind;
      readonly count: number;
      readonly sends: readonly { readonly to: string; readonly messages: readonly MessageSpec[] }[];
      /** Asked for under this identity; a second time where nothing was heard. */
      readonly identity?: string;
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

/** Functions end waits early, as deployed ones do, ms. */
const FUNCTION_WAIT_MS_MAX = 2000;

/** How long a receive or an accept waits where some processes are functions, ms. */
export function waitOf({ processes }: Pick<Scenario, 'processes'>, waitMs: number): number {
  const hasFunctions = processes.some(({ kind }) => kind === 'function');
  return hasFunctions ? Math.min(waitMs, FUNCTION_WAIT_MS_MAX) : waitMs;
}

export type ReceiveMode = 'peekLock' | 'receiveAndDelete';

/** What a client does, no sooner than an instant, once it has finished what it did before. */
export interface Step {
  /** Ms after the beginning. */
  readonly at: number;
  readonly client: string;
  /** By name; a function that is busy passes a call on to another one. */
  readonly process: string;
  readonly action: Action;
}

/** What the machines do. */
export type Fault =
  | { readonly at: number; readonly kind: 'freeze'; readonly process: string; readonly ms: number }
  | { readonly at: number; readonly kind: 'crash'; readonly process: string }
  /** Its wall clock is so far ahead from now on. */
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

/** How far ahead of the true time any clock of a scenario is, ms. */
export function mostAheadMs(scenario: Scenario): number {
  return Math.max(...aheads(scenario));
}

/** How far any two clocks of a scenario are from each other, or from the true time, ms. */
export function clocksApartMs(scenario: Scenario): number {
  return Math.ceil(Math.max(...aheads(scenario)) - Math.min(...aheads(scenario)));
}

function aheads({ processes, faults }: Scenario): readonly number[] {
  const set = faults.map((fault) => (fault.kind === 'clock' ? fault.aheadMs : 0));
  return [0, ...processes.map(({ aheadMs }) => aheadMs), ...set];
}
