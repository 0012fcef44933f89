import type { NamespaceDirectory, NamespaceVisit } from '../../amqp/service/namespace-binding.ts';
import { BrokerError, serviceBusy } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { DEFAULT_NAMESPACE, parseKeyName } from './key-name.ts';
import { namespaceDeleted, RunningNamespace, type SharedSettings } from './running-namespace.ts';

const { namespaces: RUNNING_MAX, namespacesVisited: VISITED_MAX } = BUDGETS.localServer;

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

  /** Visits the namespace of a rule for an AMQP connection; see `NamespaceDirectory`. */
  visit(keyName: string): NamespaceVisit {
    const { namespace: name = DEFAULT_NAMESPACE } = parseKeyName(keyName);
    const { namespace, end } = this.enter(name);
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
   * ServiceBusy if the namespace was deleted meanwhile.
   */
  keep(namespace: RunningNamespace): void {
    const { name } = namespace;
    if (namespace.isDeleted) throw namespaceDeleted(name);
    if (this.#running.has(name)) return;
    if (this.#running.size >= RUNNING_MAX) throw tooMany(name);
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

  /** Deletes a namespace by its name, as `delete` does; nothing if it does not run. */
  async remove(name: string): Promise<void> {
    const namespace = this.#running.get(name);
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
    `The namespace '${name}' cannot begin, because ${RUNNING_MAX} namespaces run, which is the most. Delete namespaces that you no longer need with DELETE /$namespace, or restart the local server.`,
  );
}

function cannotDeleteOwn(): BrokerError {
  return new BrokerError(
    'InvalidOperation',
    `The default namespace cannot be deleted. Empty it with POST /$reset.`,
  );
}
