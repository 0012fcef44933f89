import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { Authorization } from './authorization.ts';
import type { GatewayParts } from './parts.ts';
import type { SessionHolders } from './session-holders.ts';
import type { Settlements } from './settlements.ts';
import type { Shutdown } from './shutdown.ts';
import type { Transactions } from './transactions.ts';

/** What the links of one connection share. */
export interface ClientContext {
  readonly parts: GatewayParts;
  readonly authorization: Authorization;
  readonly sessions: SessionHolders;
  readonly settlements: Settlements;
  readonly transactions: Transactions;
  /** The address of the client, where it is known. */
  readonly peer: string | undefined;
  /** Once it has begun nothing more is handed out. */
  readonly shutdown: Shutdown;
  readonly limits: ConnectionLimits;
  /** Bytes that the connection has not got rid of. */
  readonly backlog: () => number;
  /** Does what no answer waits for; a shutdown does. */
  readonly background: (work: () => Promise<void>) => void;
}
