import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { pause } from '../../shared/domain/scheduler.ts';
import { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import { Connection } from '../endpoint/connection.ts';
import { InputTurns } from '../endpoint/input-turns.ts';
import type { Transport } from '../endpoint/transport.ts';
import { ReadingTurns } from '../messages/reading-turns.ts';
import type { ProcessTurns } from './context.ts';
import type { AmqpDependencies } from './dependencies.ts';
import type { NamespaceDirectory } from './namespace-binding.ts';
import { ServedClient } from './served-client.ts';
import { Shutdown } from './shutdown.ts';

const { connectionsUnauthorized: UNAUTHORIZED_MAX, connectionsEvicted: EVICTED_MAX } =
  BUDGETS.process;
/** How long a shutdown waits for work and output at most, each time. */
const CLOSE_MS_MAX = 5_000;
/** How long a shutdown waits for frames in transit, in either direction. */
const ARRIVAL_MS = 500;
/** How often a shutdown checks whether peers have taken their messages. */
const SENT_POLL_MS = 20;

/** Serves AMQP 1.0 to any number of clients. */
export class AmqpServer {
  readonly #dependencies: AmqpDependencies;
  readonly #directory: NamespaceDirectory | undefined;
  readonly #connections = new Set<Connection>();
  /** Unauthorized connections, the oldest first. */
  readonly #unauthorized = new Set<Connection>();
  /** Connections closed to free memory whose peers have not answered the close, the oldest first. */
  readonly #evicted = new Set<Connection>();
  readonly #background = new Set<Promise<void>>();
  readonly #shutdown = new Shutdown();
  readonly #turns: InputTurns;
  readonly #processTurns: ProcessTurns;

  /** `directory` = the namespaces that the server serves beside that of `dependencies`; absent = none. */
  constructor(dependencies: AmqpDependencies, directory?: NamespaceDirectory) {
    this.#dependencies = dependencies;
    this.#directory = directory;
    this.#turns = new InputTurns(dependencies.scheduler);
    this.#processTurns = createProcessTurns(dependencies);
  }

  /** The number of connected clients. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Serves a client. The caller passes its bytes to `input` of the returned connection. */
  accept(transport: Transport): Connection {
    const { namespace: containerId, scheduler, memory } = this.#dependencies;
    const onEvicted = (closed: Connection) => this.#addEvicted(closed);
    const options = { containerId, scheduler, turns: this.#turns, memory, onEvicted };
    const connection: Connection = new Connection(transport, options, (own) => {
      return new ServedClient(
        { dependencies: this.#dependencies, directory: this.#directory },
        own,
        {
          background: (work) => this.#runInBackground(work),
          shutdown: this.#shutdown,
          ...this.#processTurns,
          peer: transport.peer,
        },
        {
          authorized: () => this.#unauthorized.delete(connection),
          closed: () => {
            this.#connections.delete(connection);
            this.#unauthorized.delete(connection);
            this.#evicted.delete(connection);
          },
        },
      );
    });
    this.#connections.add(connection);
    this.#addUnauthorized(connection);
    if (this.#shutdown.hasBegun) connection.close();
    return connection;
  }

  /**
   * Shuts down: stops deliveries in both directions, finishes the work under way, sends its outcomes, and
   * closes all connections. Resolves when no work is left, or its time limit has passed.
   */
  async close(): Promise<void> {
    this.#shutdown.begin();
    await this.#finishArriving();
    for (const connection of this.#connections) connection.releaseOutcomes();
    await this.#finishArriving();
    await this.#untilSent();
    for (const connection of this.#connections) {
      connection.close({
        condition: 'amqp:connection:forced',
        description: 'The service is stopping; connect again.',
      });
    }
    await this.#finish();
  }

  /** Evicts the oldest connection beyond the limit, so that clients with a token can always connect. */
  #addUnauthorized(connection: Connection): void {
    this.#unauthorized.add(connection);
    const [oldest] = this.#unauthorized;
    if (oldest === undefined || this.#unauthorized.size <= UNAUTHORIZED_MAX) return;
    this.#unauthorized.delete(oldest);
    oldest.evict();
  }

  /** Aborts the oldest connection beyond the limit: the memory of evicted ones is not counted any more. */
  #addEvicted(connection: Connection): void {
    this.#evicted.add(connection);
    const [oldest] = this.#evicted;
    if (this.#evicted.size > EVICTED_MAX) oldest?.abort();
  }

  /** Waits for frames in transit, and for the work that they cause. */
  async #finishArriving(): Promise<void> {
    if (this.#connections.size > 0) await pause(this.#dependencies.scheduler, ARRIVAL_MS);
    await this.#finish();
  }

  /** Waits until peers have taken their messages, some of which are deleted already, up to a time limit. */
  async #untilSent(): Promise<void> {
    const { scheduler } = this.#dependencies;
    const deadline = scheduler.now() + CLOSE_MS_MAX;
    const isSent = ({ limits }: Connection) => limits.outgoingBytes === 0;
    while (![...this.#connections].every(isSent) && scheduler.now() < deadline) {
      await pause(scheduler, SENT_POLL_MS);
    }
  }

  /** Waits for background work, including work that it starts, up to a time limit. */
  async #finish(): Promise<void> {
    const { scheduler } = this.#dependencies;
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

  #runInBackground(work: () => Promise<void>): void {
    const run = work().catch((error) => this.#dependencies.reportFault(error));
    this.#background.add(run);
    void run.finally(() => this.#background.delete(run));
  }
}

function createProcessTurns({ scheduler, workTurns }: AmqpDependencies): ProcessTurns {
  const small = new LoopTurns(scheduler, BUDGETS.connection.turnReadBytes);
  const turns = { large: workTurns, small };
  return {
    endTurns: new LoopTurns(scheduler, BUDGETS.turnEnds),
    returnTurns: new LoopTurns(scheduler, BUDGETS.turnReturns),
    readingTurns: new ReadingTurns(turns),
    requestReadingTurns: new ReadingTurns(turns, BUDGETS.connection.turnRequestBytes),
  };
}
