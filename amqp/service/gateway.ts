import { BUDGETS } from '../../shared/domain/budgets.ts';
import { pause } from '../../shared/domain/scheduler.ts';
import { Connection } from '../endpoint/connection.ts';
import { CROWDED_OUT } from '../endpoint/connection-ends.ts';
import type { Transport } from '../endpoint/handlers.ts';
import { Client } from './client.ts';
import type { GatewayParts } from './parts.ts';
import { Shutdown } from './shutdown.ts';

const UNPROVED_MAX = BUDGETS.process.connectionsBeforeRight;
/** How long a shutdown waits for what clients are still being told. */
const CLOSE_MS_MAX = 5_000;
/** By then all that is on its way has arrived, here or there. */
const ARRIVED_MS = 500;

/** Speaks AMQP 1.0 to any number of clients. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #connections = new Set<Connection>();
  /** Those that have proved no right, the oldest first. */
  readonly #unproved = new Set<Connection>();
  readonly #background = new Set<Promise<void>>();
  readonly #shutdown = new Shutdown();

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Serves a client; what it says goes to `input` of what is returned. */
  accept(transport: Transport): Connection {
    const { namespace: containerId, scheduler, memory } = this.#parts;
    const options = { containerId, scheduler, memory };
    const connection: Connection = new Connection(transport, options, (own) => {
      return new Client(
        this.#parts,
        own,
        {
          background: (work) => this.#add(work),
          shutdown: this.#shutdown,
          peer: transport.peer,
        },
        {
          proved: () => this.#unproved.delete(connection),
          closed: () => {
            this.#connections.delete(connection);
            this.#unproved.delete(connection);
          },
        },
      );
    });
    this.#connections.add(connection);
    this.#addUnproved(connection);
    if (this.#shutdown.hasBegun) connection.close();
    return connection;
  }

  /**
   * Hands out and takes in nothing more, finishes what clients have asked for and tells them, and
   * sends them away.
   * Resolves when nothing is left to do for them.
   */
  async close(): Promise<void> {
    this.#shutdown.begin();
    await this.#settle();
    for (const connection of this.#connections) connection.release();
    await this.#settle();
    for (const connection of this.#connections) {
      connection.close({
        condition: 'amqp:connection:forced',
        description: 'The service is stopping; connect again.',
      });
    }
    await this.#finish();
  }

  /** Closes the oldest where there are too many, so that strangers keep nobody out who proves a right. */
  #addUnproved(connection: Connection): void {
    this.#unproved.add(connection);
    const [oldest] = this.#unproved;
    if (oldest === undefined || this.#unproved.size <= UNPROVED_MAX) return;
    this.#unproved.delete(oldest);
    oldest.close(CROWDED_OUT);
  }

  /** Waits for what clients have sent, and until it is done. */
  async #settle(): Promise<void> {
    if (this.#connections.size > 0) await pause(this.#parts.scheduler, ARRIVED_MS);
    await this.#finish();
  }

  /** Waits for what is under way, and for what comes of it, though not for ever. */
  async #finish(): Promise<void> {
    const { scheduler } = this.#parts;
    const deadline = scheduler.now() + CLOSE_MS_MAX;
    for (let left = CLOSE_MS_MAX; this.#background.size > 0 && left > 0; ) {
      await new Promise<void>((resolve) => {
        const timer = scheduler.after(left, resolve);
        void Promise.all(this.#background).then(() => {
          timer.cancel();
          resolve();
        });
      });
      left = deadline - scheduler.now();
    }
  }

  #add(work: () => Promise<void>): void {
    const run = work().catch((error) => this.#parts.reportFault(error));
    this.#background.add(run);
    void run.finally(() => this.#background.delete(run));
  }
}
