import { tokenRefusal } from '../../shared/auth/sas-token-text.ts';
import type { AmqpDependencies } from './dependencies.ts';

/** The namespaces of a server that serves several; the rule that a client names leads to one. */
export interface NamespaceDirectory {
  /** The name of the namespace of a rule. Throws Unauthenticated for a name that no namespace can have. */
  nameOf(keyName: string): string;
  /**
   * Visits the namespace of a rule, for the time of one check. It may start for the visit, and ends with it unless
   * the visitor stays. Throws Unauthenticated for a name that no namespace can have, ServiceBusy for too many visits
   * at once.
   */
  visit(keyName: string): NamespaceVisit;
}

/** A check whether a client has a right in a namespace. */
export interface NamespaceVisit {
  readonly dependencies: AmqpDependencies;
  /**
   * Notes that the client has a right, so that the namespace goes on. `onDeleted` is called with a sentence when it is
   * deleted. Returns a function that ends the stay. Throws QuotaExceeded if too many namespaces run.
   */
  stay(onDeleted: (why: string) => void): () => void;
  /** Ends the visit. */
  end(): void;
}

/**
 * The namespace of one connection: the server's own until the client has proved a right in another one. After its
 * first proof, the connection stays with that namespace.
 */
export class NamespaceBinding {
  #dependencies: AmqpDependencies;
  readonly #directory: NamespaceDirectory | undefined;
  readonly #onDeleted: (why: string) => void;
  #leave: (() => void) | undefined;
  #isClosed = false;

  /** `directory` = absent if the server has one namespace; `onDeleted` closes the connection. */
  constructor(
    own: AmqpDependencies,
    directory: NamespaceDirectory | undefined,
    onDeleted: (why: string) => void,
  ) {
    this.#dependencies = own;
    this.#directory = directory;
    this.#onDeleted = onDeleted;
  }

  /** Of the namespace to which the connection is bound; until then, of the server's own. */
  get dependencies(): AmqpDependencies {
    return this.#dependencies;
  }

  /**
   * Runs a check with the dependencies of the namespace to which the connection is bound; before, with those of the
   * namespace of the rule that `keyName` returns. The check calls `prove` if the client has a right, which binds the
   * connection. Throws as `keyName`, `visit` and `stay`, and Unauthenticated if the connection is bound to another
   * namespace.
   */
  async check<Outcome>(
    keyName: () => string,
    run: (dependencies: AmqpDependencies, prove: () => void) => Promise<Outcome>,
  ): Promise<Outcome> {
    if (this.#directory === undefined) return await run(this.#dependencies, () => {});
    if (this.#leave !== undefined) {
      const named = this.#directory.nameOf(keyName());
      const bound = this.#dependencies.namespace;
      if (named !== bound) throw otherNamespace(named, bound);
      return await run(this.#dependencies, () => {});
    }
    const visit = this.#directory.visit(keyName());
    try {
      return await run(visit.dependencies, () => this.#bind(visit));
    } finally {
      visit.end();
    }
  }

  /** Ends the stay, since the connection is gone. */
  closed(): void {
    this.#isClosed = true;
    this.#leave?.();
  }

  #bind(visit: NamespaceVisit): void {
    if (this.#isClosed) return;
    if (this.#leave === undefined) {
      this.#leave = visit.stay(this.#onDeleted);
      this.#dependencies = visit.dependencies;
    } else if (this.#dependencies !== visit.dependencies) {
      throw otherNamespace(visit.dependencies.namespace, this.#dependencies.namespace);
    }
  }
}

/** Unauthenticated: a token leads to another namespace than its connection is bound to. */
function otherNamespace(named: string, bound: string) {
  return tokenRefusal(
    '40103',
    `InvalidSignature: The token is for the namespace '${named}', but this connection belongs to '${bound}': open another connection for it.`,
  );
}
