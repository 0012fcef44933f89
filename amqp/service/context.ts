import type { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import type { Authorization } from '../authorization/authorization.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { ReadingTurns } from '../messages/reading-turns.ts';
import type { ClaimBudget } from '../receiving/claim-budget.ts';
import type { HeldSessions } from '../receiving/held-sessions.ts';
import type { Settlements } from '../receiving/settlements.ts';
import type { Reads } from '../requests/reads.ts';
import type { WorkSlots } from '../requests/work-slots.ts';
import type { CopyBudget } from '../sending/copy-budget.ts';
import type { Transactions } from '../transactions/transactions.ts';
import type { GatewayDependencies } from './dependencies.ts';
import type { Shutdown } from './shutdown.ts';

/** What the links of one connection share. */
export interface ClientContext extends ProcessTurns {
  readonly dependencies: GatewayDependencies;
  readonly authorization: Authorization;
  readonly sessions: HeldSessions;
  readonly settlements: Settlements;
  readonly transactions: Transactions;
  readonly reads: Reads;
  /** The address of the client, where it is known. */
  readonly peer: string | undefined;
  /** Once it has begun nothing more is handed out. */
  readonly shutdown: Shutdown;
  readonly limits: ConnectionLimits;
  /** Sends what was written at once, not at the end of the turn: for what an operation has come to. */
  readonly sendNow: () => void;
  /** How much the database is asked for it at a time. */
  readonly workSlots: WorkSlots;
  /** How much its receivers may claim. */
  readonly claimBudget: ClaimBudget;
  /** When its receivers may claim what was found for them. */
  readonly claimTurns: LoopTurns;
  readonly copyBudget: CopyBudget;
  /** Does what no answer waits for; a shutdown does. */
  readonly background: (work: () => Promise<void>) => void;
}

/** Turns that all connections share. */
export interface ProcessTurns {
  /** When receives of links that have ended may end. */
  readonly endTurns: LoopTurns;
  /** When messages may be given back that links which have ended were to send. */
  readonly returnTurns: LoopTurns;
  /** When what senders send may be read. */
  readonly readingTurns: ReadingTurns;
  /** When requests may be read. */
  readonly requestReadingTurns: ReadingTurns;
}
