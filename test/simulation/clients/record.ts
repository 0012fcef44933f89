import type { Action, SettlementKind } from '../scenario/scenario.ts';

/** A message that was handed to a client. */
export interface Delivery {
  readonly id: number;
  readonly tag: string;
  /** Of the receive, with its sub-queue. */
  readonly path: string;
  readonly isDeferred: boolean;
  /** The session, and the lock on it, under which it was received. */
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

/** What was answered about one of several. `unknown` = perhaps done. */
export type ItemOutcome = 'done' | 'unknown' | 'refused';

export interface SettledItem {
  readonly delivery: Delivery;
  readonly how: SettlementKind | 'renew';
  readonly delayMs?: number;
  readonly outcome: ItemOutcome;
  readonly code?: string;
  /** Of a renewal. */
  readonly lockedUntil?: number;
}

/** One operation of a client, and what it heard. Times are true ones, epoch ms. */
export interface OperationRecord {
  readonly number: number;
  readonly client: string;
  readonly process: string;
  readonly action: Action;
  readonly start: number;
  readonly end: number;
  /** The wall clock of the process at both ends. */
  readonly startClock: number;
  readonly endClock: number;
  /** Whether requests of the process went wrong meanwhile, so that it may have done more than it knows. */
  readonly wentWrong: boolean;
  readonly heard: 'done' | 'refused' | 'unknown' | 'failed';
  /** Of a refusal, or why nothing is known. */
  readonly code?: string;
  readonly text?: string;
  readonly deliveries?: readonly Delivery[];
  readonly granted?: SessionGrant;
  /** Under which it acted, where it acted in a session. */
  readonly session?: SessionGrant;
  readonly settled?: readonly SettledItem[];
  /** The numbers that sent messages got, by tag. */
  readonly numbers?: ReadonlyMap<string, bigint>;
  /** Of a peek: what it showed; of an operator's act: what it named. */
  readonly tags?: readonly string[];
  /** Of an operator's act: whether each was done. */
  readonly acted?: readonly boolean[];
  /** How many were removed, or resubmitted. */
  readonly removed?: number;
  readonly state?: string | undefined;
  readonly sessionIds?: readonly string[];
  /** What part of a sweep failed with. */
  readonly failure?: string;
}

/** What an operation adds to its record. */
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
  | 'wentWrong'
  | 'heard'
  | 'code'
  | 'text'
>;
