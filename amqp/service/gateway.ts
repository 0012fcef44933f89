import { Connection } from '../endpoint/connection.ts';
import type { Transport } from '../endpoint/handlers.ts';
import { Client } from './client.ts';
import type { GatewayParts } from './parts.ts';

/** How long a shutdown waits for what clients are still being told. */
const CLOSE_MS_MAX = 5_000;

/** Speaks AMQP 1.0 to any number of clients. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #connections = new Set<Connection>();
  readonly #background = new Set<Promise<void>>();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** Serves a client; what it says goes to `input` of what is returned. */
  accept(transport: Transport): Connection {
    const { namespace } = this.#parts;
    const connection: Connection = new Connection(transport, namespace, (own) => {
      return new Client(
        this.#parts,
        own,
        (work) => this.#add(work),
        () => this.#connections.delete(connection),
      );
    });
    this.#connections.add(connection);
    return connection;
  }

  /** Sends all clients away, and resolves when nothing is left to do for them. */
  async close(): Promise<void> {
    for (const connection of this.#connections) {
      connection.close({
        condition: 'amqp:connection:forced',
        description: 'The service is stopping; connect again.',
      });
    }
    const enough = new Promise((resolve) => setTimeout(resolve, CLOSE_MS_MAX).unref());
    await Promise.race([Promise.all(this.#background), enough]);
  }

  #add(work: () => Promise<void>): void {
    const run = work().catch(this.#parts.reportFault);
    this.#background.add(run);
    void run.finally(() => this.#background.delete(run));
  }
}
