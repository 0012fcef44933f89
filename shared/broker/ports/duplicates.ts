import type { Log } from '../../domain/blocks/log.ts';

/** Messages that an entity perhaps knows already. */
export interface OnceRequest {
  /** Where those of them wait that were scheduled, in whatever partition. */
  readonly log: Log;
  /** How long the entity knows them again, ms. */
  readonly windowMs: number;
  readonly candidates: readonly Candidate[];
}

export interface Candidate {
  /** What the message is known by; all are different. Absent = it cannot come twice. */
  readonly key: string | undefined;
  /** Epoch ms, as its sender said it. */
  readonly scheduledEnqueueAt: number | undefined;
  readonly sessionId: string | undefined;
}

/**
 * Stores the messages at these places, in their order, and returns their numbers. What it is given is
 * the store's own note, and must be part of the write.
 */
export type StoreChosen = (
  places: readonly number[],
  guard: unknown,
) => Promise<readonly (bigint | undefined)[]>;
