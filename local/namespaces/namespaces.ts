import type { NamespaceDirectory, NamespaceVisit } from '../../amqp/service/namespace-binding.ts';
import { BoundedMap } from '../../shared/domain/bounded-map.ts';
import { BrokerError, serviceBusy } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { DEFAULT_NAMESPACE, parseKeyName } from './key-name.ts';
import { namespaceDeleted, RunningNamespace, type SharedSettings } from './running-namespace.ts';

const {
  namespaces: RUNNING_MAX,
  namespacesVisited: VISITED_MAX,
  namespacesEnding: ENDING_MAX,
  namespacesCondemned: CONDEMNED_MAX,
} = BUDGETS.localServer;
/** How long a removed namespace does not begin again: longer than requests of its owner are under way. */
const CONDEMNED_MS = 60_000;

/** A namespace for the time of one request or check. */
export interface Visit {
  readonly namespace: RunningNamespace;
  /** Ends the visit. A namespace that does not run, and that nobody visits any more, is forgotten. */
  end(): void;
}

interface Visited {
  readonly namespace: RunningNamespace;
  visits: number;
}

/**
 * The namespaces of the local server. A namespace begins to run with the first client that proves a right in it; until
 * then it exists for the time of the check only, so that clients without a right leave nothing behind.
 */
export class Namespaces implements NamespaceDirectory {
  /** The namespace of rules that name no other; it cannot be deleted. */
  readonly own: RunningNamespace;
  readonly #shared: SharedSettings;
  /** By name, the oldest first. */
  readonly #running = new Map<string, RunningNamespace>();
  /** Those that do not run yet. */
  readonly #visited = new Map<string, Visited>();
  /** Names that `remove` was called for, and until when no namespace of that name begins, epoch ms. */
  readonly #condemned = new BoundedMap<string, number>(CONDEMNED_MAX);
  /** What goes on after the deletion of namespaces. */
  readonly #removals = new Set<Promise<void>>();
  #isStopping = false;

  constructor(shared: SharedSettings) {
    this.#shared = shared;
    this.own = this.#create(DEFAULT_NAMESPACE);
    this.keep(this.own);
  }

  /** The namespaces that run, the oldest first. */
  get running(): Iterable<RunningNamespace> {
    return this.#running.values();
  }

  /** Visits a namespace by its name. Throws ServiceBusy for too many visits of namespaces that do not run. */
  enter(name: string): Visit {
    const running = this.#running.get(name);
    if (running !== undefined) return { namespace: running, end: () => {} };
    const visited = this.#visited.get(name) ?? this.#begin(name);
    visited.visits++;
    return { namespace: visited.namespace, end: () => this.#leave(visited) };
  }

  /** The name of the namespace of a rule; see `NamespaceDirectory`. */
  nameOf(keyName: string): string {
    return parseKeyName(keyName).namespace ?? DEFAULT_NAMESPACE;
  }

  /** Visits the namespace of a rule for an AMQP connection; see `NamespaceDirectory`. */
  visit(keyName: string): NamespaceVisit {
    const { namespace, end } = this.enter(this.nameOf(keyName));
    return {
      dependencies: namespace.amqp,
      stay: (onDeleted) => {
        this.keep(namespace);
        return namespace.onDeleted(onDeleted);
      },
      end,
    };
  }

  /**
   * Lets a visited namespace run from now on, since a client has a right in it. Throws QuotaExceeded if too many run,
   * ServiceBusy if the namespace was deleted meanwhile or too many are being deleted, InvalidOperation if `remove` was
   * called for its name a moment ago.
   */
  keep(namespace: RunningNamespace): void {
    const { name } = namespace;
    if (namespace.isDeleted) throw namespaceDeleted(name);
    if (this.#running.has(name)) return;
    if ((this.#condemned.get(name) ?? 0) > Date.now()) throw removed(name);
    this.#requireRoom(name);
    this.#running.set(name, namespace);
    namespace.start();
  }

  /**
   * Deletes a namespace with all its entities; the next client begins a new one of the same name. Throws
   * InvalidOperation for the default namespace, and what the deletion of entities throws.
   */
  async delete(namespace: RunningNamespace): Promise<void> {
    if (namespace === this.own) throw cannotDeleteOwn();
    await namespace.delete();
    this.#running.delete(namespace.name);
    if (this.#visited.get(namespace.name)?.namespace === namespace) {
      this.#visited.delete(namespace.name);
    }
    const removal = namespace
      .removeRemains(() => this.#isStopping)
      .catch((error) => this.#shared.reportError(error));
    this.#removals.add(removal);
    void removal.finally(() => this.#removals.delete(removal));
  }

  /**
   * Deletes a namespace by its name, as `delete` does, if it runs. For a minute no other of that name begins, because
   * requests of its owner, who is gone, may still be under way. The server remembers some hundreds of such names.
   */
  async remove(name: string): Promise<void> {
    const namespace = this.#running.get(name);
    if (namespace !== this.own) this.#condemned.set(name, Date.now() + CONDEMNED_MS);
    if (namespace !== undefined) await this.delete(namespace);
  }

  /** Ends the sweeps of all namespaces, and the waits of their receives. */
  async close(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#running.values()].map((one) => one.close()));
  }

  /** Resolves when no background work is left. */
  async idle(): Promise<void> {
    await Promise.all([...this.#running.values()].map((one) => one.composition.idle()));
    await Promise.all(this.#removals);
  }

  /** Those that are being deleted do not count among those that run. */
  #requireRoom(name: string): void {
    if (this.#running.size < RUNNING_MAX) return;
    const ending = [...this.running].filter(({ isDeleted }) => isDeleted).length;
    if (this.#running.size - ending >= RUNNING_MAX) throw tooMany(name);
    if (ending >= ENDING_MAX) {
      throw serviceBusy('Too many namespaces are being deleted. Try again in a moment.');
    }
  }

  #create(name: string): RunningNamespace {
    const created: RunningNamespace = new RunningNamespace(name, this.#shared, () =>
      this.keep(created),
    );
    return created;
  }

  #begin(name: string): Visited {
    if (this.#visited.size >= VISITED_MAX) {
      throw serviceBusy('Too many clients try namespaces that do not run. Try again in a moment.');
    }
    const visited = { namespace: this.#create(name), visits: 0 };
    this.#visited.set(name, visited);
    return visited;
  }

  #leave(visited: Visited): void {
    const { namespace } = visited;
    visited.visits--;
    if (visited.visits > 0) return;
    if (this.#visited.get(namespace.name) === visited) this.#visited.delete(namespace.name);
    const isRunning = this.#running.get(namespace.name) === namespace;
    if (!isRunning) void namespace.close().catch((error) => this.#shared.reportError(error));
  }
}

function tooMany(name: string): BrokerError {
  return new BrokerError(
    'QuotaExceeded',
    `The namespace '${name}' cannot begin, because ${RUNNING_MAX} namespaces run, which is the most. End those that you no longer need: with stop() of the test API, or with DELETE /$namespace. Or restart the local server.`,
  );
}

function removed(name: string): BrokerError {
  return new BrokerError(
    'InvalidOperation',
    `The namespace '${name}' was deleted, because the process that had started it has ended. Start another one, or use this name again in a minute.`,
  );
}

function cannotDeleteOwn(): BrokerError {
  return new BrokerError(
    'InvalidOperation',
    `The default namespace cannot be deleted. Empty it with POST /$reset.`,
  );
}
