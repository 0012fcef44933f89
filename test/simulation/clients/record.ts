import type { Action, SettlementKind } from '../scenario/scenario.ts';

/** A message that a client received. */
export interface Delivery {
  readonly id: number;
  readonly tag: string;
  /** The path of the receive, with its sub-queue. */
  readonly path: string;
  readonly isDeferred: boolean;
  /** The session it was received in, and the lock of that session. */
  readonly session?: { readonly sessionId: string; readonly lockToken: string };
  readonly sequenceNumber: bigint;
  readonly failedDeliveries: number;
  readonly lockToken?: string;
  /** By the clock of the process that locked it, epoch ms. */
  readonly lockedUntil?: number;
  readonly expiresAt?: number;
}

export interface SessionGrant {
  readonly path: string;
  readonly sessionId: string;
  readonly lockToken: string;
  readonly lockedUntil: number;
}

/** The outcome for one of several messages; `unknown` = it may be done. */
export type ItemOutcome = 'done' | 'unknown' | 'refused';

export interface SettledItem {
  readonly delivery: Delivery;
  readonly how: SettlementKind | 'renew';
  readonly delayMs?: number;
  readonly outcome: ItemOutcome;
  readonly code?: string;
  /** After a renewal. */
  readonly lockedUntil?: number;
}

/**
 * One operation of a client, with its outcome; all attempts of a transaction are one. `start` and `end` are true times,
 * epoch ms.
 */
export interface OperationRecord {
  readonly number: number;
  readonly client: string;
  /** The process of the last attempt. */
  readonly process: string;
  readonly action: Action;
  readonly start: number;
  readonly end: number;
  /** The wall clock of the process that was called, at both ends. */
  readonly startClock: number;
  readonly endClock: number;
  /** Whether database requests of the process had faults meanwhile: it may have done more than it knows. */
  readonly hadFaults: boolean;
  readonly outcome: 'done' | 'refused' | 'unknown' | 'failed';
  /** The error code of a refusal, or the reason of an unknown outcome. */
  readonly code?: string;
  readonly text?: string;
  readonly deliveries?: readonly Delivery[];
  readonly granted?: SessionGrant;
  /** The session it acted in, if any. */
  readonly session?: SessionGrant;
  readonly settled?: readonly SettledItem[];
  /** The sequence numbers of sent messages, by tag. */
  readonly numbers?: ReadonlyMap<string, bigint>;
  /** The messages that a peek showed or an operator's operation named. */
  readonly tags?: readonly string[];
  /** Whether an operator's operation was done, for each message. */
  readonly acted?: readonly boolean[];
  /** How many messages were removed or resubmitted. */
  readonly removed?: number;
  readonly state?: string | undefined;
  readonly sessionIds?: readonly string[];
  /** The error of a sweep that failed in part. */
  readonly failure?: string;
}

/** The part of a record that depends on the kind of operation. */
export type Details = Omit<
  OperationRecord,
  | 'number'
  | 'client'
  | 'process'
  | 'action'
  | 'start'
  | 'end'
  | 'startClock'
  | 'endClock'
  | 'hadFaults'
  | 'outcome'
  | 'code'
  | 'text'
>;
