import type { IncomingLink } from './incoming-link.ts';
import type { OutgoingLink } from './outgoing-link.ts';

/** What stands behind the protocol on one connection. Nothing here may throw. */
export interface ConnectionHandler {
  /** Names of SASL mechanisms, in order of preference. */
  readonly mechanisms: readonly string[];
  /** Whether the peer may go on; a mechanism has one step. */
  authenticate(mechanism: string, response: Uint8Array): Promise<boolean>;
  /** The peer said to whom it believes to speak. */
  opened(hostname: string | undefined): void;
  /** The peer wants to send; answered by `accept` or `refuse`, in its own time. */
  incoming(link: IncomingLink): void;
  /** The peer wants to receive; answered likewise. */
  outgoing(link: OutgoingLink): void;
  /** Something of ours went wrong while it was read what the peer said. */
  failed(error: unknown): void;
  /** The connection is gone, and all its links with it. */
  closed(): void;
}
