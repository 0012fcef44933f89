import type { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import type { Authorization } from '../authorization/authorization.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { ReadingTurns } from '../messages/reading-turns.ts';
import type { ClaimBudget } from '../receiving/claim-budget.ts';
import type { HeldSessions } from '../receiving/held-sessions.ts';
import type { Settlements } from '../receiving/settlements.ts';
import type { Reads } from '../requests/reads.ts';
import type { WorkSlots } from '../requests/work-slots.ts';
import type { DecodedBudget } from '../sending/decoded-budget.ts';
import type { Transactions } from '../transactions/transactions.ts';
import type { AmqpDependencies } from './dependencies.ts';
import type { Shutdown } from './shutdown.ts';

/** State and services that the links of one connection share. */
export interface ClientContext extends ProcessTurns {
  /** Those of the connection's namespace, which its first right decides: read them after a right was required. */
  readonly dependencies: AmqpDependencies;
  readonly authorization: Authorization;
  readonly sessions: HeldSessions;
  readonly settlements: Settlements;
  readonly transactions: Transactions;
  readonly reads: Reads;
  /** The network address of the client, if known. */
  readonly peer: string | undefined;
  /** Once it has begun, no more messages are delivered. */
  readonly shutdown: Shutdown;
  readonly limits: ConnectionLimits;
  /** Sends queued output at once instead of at the end of the turn: for the outcome of an operation. */
  readonly sendNow: () => void;
  /** Bounds the concurrent work that its requests and session links cause in DynamoDB. */
  readonly workSlots: WorkSlots;
  /** Bounds the messages that its receivers claim. */
  readonly claimBudget: ClaimBudget;
  /** Schedules the claims of its receivers, after a query has found messages. */
  readonly claimTurns: LoopTurns;
  /** Bounds the memory of the messages that its senders have decoded. */
  readonly decodedBudget: DecodedBudget;
  /** Runs work without waiting for it. A shutdown waits for it. */
  readonly background: (work: () => Promise<void>) => void;
}

/** Turns that all connections of the process share. */
export interface ProcessTurns {
  /** Schedules the end of receives of links that have ended. */
  readonly endTurns: LoopTurns;
  /** Schedules the return of messages that were locked for a link that has ended. */
  readonly returnTurns: LoopTurns;
  /** Schedules the decoding of deliveries. */
  readonly readingTurns: ReadingTurns;
  /** Schedules the decoding of requests. */
  readonly requestReadingTurns: ReadingTurns;
}
