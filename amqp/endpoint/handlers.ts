import type { IncomingLink } from './incoming-link.ts';
import type { OutgoingLink } from './outgoing-link.ts';

/** Where bytes go: a socket, or what a WebSocket carries. */
export interface Transport {
  /** The address of the peer, where it is known. */
  readonly peer?: string | undefined;
  /** Bytes that were written and are not gone yet. */
  readonly backlog: number;
  /** Calls back when they are gone, or never will be. */
  write(bytes: Uint8Array, written: () => void): void;
  /** Takes nothing in for now. */
  pause(): void;
  resume(): void;
  /** Writes what is left, and says that no more comes. */
  end(): void;
  /** Ends at once. */
  destroy(): void;
}

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
