import type { IncomingLink } from './incoming-link.ts';
import type { OutgoingLink } from './outgoing-link.ts';

/** The application of one connection: it authenticates the peer and serves its links. Methods never throw. */
export interface ConnectionHandler {
  /** Names of SASL mechanisms, in order of preference. */
  readonly mechanisms: readonly string[];
  /** Resolves with whether the peer may continue. Every mechanism has one step. */
  authenticate(mechanism: string, response: Uint8Array): Promise<boolean>;
  /** Called when the peer has opened the connection; `hostname` = the host of its open. */
  opened(hostname: string | undefined): void;
  /** Called when the peer attaches a link to send on. The handler accepts or refuses it, maybe later. */
  incoming(link: IncomingLink): void;
  /** Called when the peer attaches a link to receive on, in the same way. */
  outgoing(link: OutgoingLink): void;
  /** Called with an error of this service that occurred while input was handled. */
  failed(error: unknown): void;
  /** Called when the connection is gone, with all its links. */
  closed(): void;
}
