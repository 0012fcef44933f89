import type { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import type { Authorization } from '../authorization/authorization.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { ReadingTurns } from '../messages/reading-turns.ts';
import type { ClaimRoom } from '../receiving/claim-room.ts';
import type { SessionHolders } from '../receiving/session-holders.ts';
import type { Settlements } from '../receiving/settlements.ts';
import type { Reads } from '../requests/reads.ts';
import type { WorkSlots } from '../requests/work-slots.ts';
import type { CopyRoom } from '../sending/copy-room.ts';
import type { Transactions } from '../transactions/transactions.ts';
import type { GatewayParts } from './dependencies.ts';
import type { Shutdown } from './shutdown.ts';

/** What the links of one connection share. */
export interface ClientContext extends TurnsOfAll {
  readonly parts: GatewayParts;
  readonly authorization: Authorization;
  readonly sessions: SessionHolders;
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
  readonly slots: WorkSlots;
  /** How much its receivers may claim. */
  readonly claimRoom: ClaimRoom;
  /** When its receivers may claim what was found for them. */
  readonly claimTurns: LoopTurns;
  readonly copyRoom: CopyRoom;
  /** Does what no answer waits for; a shutdown does. */
  readonly background: (work: () => Promise<void>) => void;
}

/** Turns that all connections share. */
export interface TurnsOfAll {
  /** When receives of links that have ended may end. */
  readonly endTurns: LoopTurns;
  /** When messages may be given back that links which have ended were to send. */
  readonly returnTurns: LoopTurns;
  /** When what senders send may be read. */
  readonly readingTurns: ReadingTurns;
  /** When requests may be read. */
  readonly requestReadingTurns: ReadingTurns;
}
