import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { AmqpDependencies } from '../../amqp/service/dependencies.ts';
import { type Composition, compose } from '../../lambdas/http/compose.ts';
import { composeRenewal } from '../../shared/app/compose-renewal.ts';
import type { ProcessResources } from '../../shared/app/namespace-settings.ts';
import type { WaitStream } from '../../shared/app/open-stream.ts';
import { realRandom } from '../../shared/app/real-random.ts';
import { PUBLIC_ROOT_KEY } from '../../shared/auth/root-rule.ts';
import { type BrokerError, serviceBusy } from '../../shared/domain/broker-error.ts';
import type { Tier } from '../../shared/domain/entities/tier.ts';
import { clearRemains, tombstoneNames } from '../../shared/storage/maintenance/clear-remains.ts';
import type { TableNames } from '../../shared/storage/schema/tables.ts';
import { MovableClock } from '../movable-clock.ts';
import { LocalPush } from '../push/local-push.ts';
import { type Sweeping, startSweeping } from '../sweeping.ts';
import type { ApplyConfig } from './config-port.ts';
import { DeclaredEntities } from './declared-entities.ts';
import { deleteEntities, resetEntities } from './empty-namespace.ts';
import { tokenParserOf } from './key-name.ts';

const SWEEP_EVERY_MS = 60_000;
/** The longest wait that clients ask for: on this machine a waiting receive costs nothing. */
const RECEIVE_WAIT_MS_MAX = 60_000;
/** Passes over the entities of a namespace that is deleted, to which requests under way may still add some. */
const DELETE_PASSES_MAX = 10;

/** What all namespaces of the server have in common. */
export interface SharedSettings {
  readonly client: DynamoDBClient;
  readonly documentClient: DynamoDBDocumentClient;
  readonly tables: TableNames;
  readonly process: ProcessResources;
  readonly tier: Tier;
  readonly leaseMs: number;
  /** The key of RootManageSharedAccessKey of every namespace. */
  readonly rootKey: string;
  /** Receives a sentence about something that the user can correct. */
  readonly warn: (sentence: string) => void;
  readonly reportError: (error: unknown) => void;
  /** The stream of the messages table; absent = none is read. */
  readonly stream?: WaitStream | undefined;
}

/**
 * One namespace of the local server, with its own entities, clock and sweep. It does nothing by itself until `start`,
 * so one that is only looked at leaves no trace.
 */
export class RunningNamespace {
  readonly name: string;
  readonly clock = new MovableClock();
  readonly composition: Composition;
  /** The dependencies of AMQP connections that are bound to it. */
  readonly amqp: AmqpDependencies;
  readonly #reportError: (error: unknown) => void;
  readonly #declared = new DeclaredEntities();
  /** Called with a sentence when the namespace is deleted. */
  readonly #stays = new Set<(why: string) => void>();
  readonly #push: LocalPush;
  #sweeping: Sweeping | undefined;
  /** Changes of the whole namespace: one at a time. */
  #lastChange: Promise<unknown> = Promise.resolve();
  #isDeleted = false;
  /** The tombstones that it had when it was deleted. */
  #remains: ReadonlySet<string> = new Set();

  /** `onAuthorized` is called before each request that has proved a right is carried out. */
  constructor(name: string, shared: SharedSettings, onAuthorized: () => void) {
    const { warn, reportError, ...settings } = shared;
    this.name = name;
    this.#reportError = reportError;
    this.#push = new LocalPush(this.clock, { warn, reportError });
    this.composition = compose({
      ...settings,
      namespace: name,
      clock: this.clock,
      // Clients make tokens by the machine's clock: a move of the other clock must not expire them.
      tokenClock: { now: () => Date.now() },
      random: realRandom,
      receiveWaitMsMax: RECEIVE_WAIT_MS_MAX,
      parseToken: tokenParserOf(name),
      consumers: this.#push.wakes,
      push: this.#push.management,
      onAuthorized,
      explorer: {
        place: 'local',
        access: 'sas',
        ...(shared.rootKey === PUBLIC_ROOT_KEY ? { publicKey: PUBLIC_ROOT_KEY } : {}),
      },
    });
    this.clock.onMove(() => this.composition.wake());
    this.amqp = {
      ...this.composition.dependencies,
      reportFault: reportError,
      // Clients renew locks by the machine's clock.
      lockEndShown: (lockedUntil) => this.clock.byMachine(lockedUntil),
    };
  }

  /** Whether it was deleted, or is about to be. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  /** Starts the regular sweep, and pushes messages to the targets of consumers. */
  start(): void {
    if (this.#sweeping !== undefined) return;
    this.#push.start(this.composition.dependencies);
    this.#sweeping = startSweeping(
      () => this.composition.sweep(),
      SWEEP_EVERY_MS,
      this.#reportError,
    );
  }

  /** Calls a listener when the namespace is deleted. Returns a function that removes the listener. */
  onDeleted(listener: (why: string) => void): () => void {
    this.#stays.add(listener);
    return () => this.#stays.delete(listener);
  }

  /**
   * Sweeps once. Rejects with the error of this sweep, and with ServiceBusy if the namespace was deleted, because the
   * next one of its name has another clock.
   */
  async sweep(): Promise<void> {
    if (this.#isDeleted) throw namespaceDeleted(this.name);
    await this.#sweeping?.now();
  }

  /**
   * Applies a configuration, and remembers what it declares for `reset`. Throws what `apply` throws, and ServiceBusy
   * if the namespace was deleted meanwhile.
   */
  async configure(apply: ApplyConfig): Promise<void> {
    await this.#change(() => this.#declared.declare(this.composition.management, apply));
  }

  /**
   * Puts the namespace back to its beginning: without messages, locks, session states and deduplication records, and
   * with those entities that configurations have declared. The clock stays. Throws ServiceBusy, ServiceTimeout,
   * ConflictInProgress.
   */
  async reset(): Promise<void> {
    const { management, dependencies, wake } = this.composition;
    await this.#change(() =>
      resetEntities(management, composeRenewal(dependencies), this.#declared.all, this.clock.now()),
    );
    // Waiting receives go on in the new entities.
    wake();
  }

  /**
   * Deletes all entities, after which the namespace serves nobody. Throws ServiceBusy, ServiceTimeout,
   * ConflictInProgress; then it goes on.
   */
  async delete(): Promise<void> {
    await this.#change(async () => {
      this.#isDeleted = true;
      try {
        for (const end of this.#stays) end(`The namespace '${this.name}' was deleted.`);
        for (let pass = 0; pass < DELETE_PASSES_MAX; pass++) {
          if ((await deleteEntities(this.composition.management)) === 0) break;
        }
        const { documents } = this.composition.dependencies;
        this.#remains = await tombstoneNames(documents, this.name);
      } catch (error) {
        this.#isDeleted = false;
        throw error;
      }
    });
    await this.close();
  }

  /** Ends the sweep and all waits, and finishes background work. */
  async close(): Promise<void> {
    await this.#sweeping?.stop();
    await this.#push.close();
    await this.composition.close();
  }

  /**
   * Removes what was left in storage when the namespace was deleted. A new namespace of the same name, which may run
   * already, loses nothing. `isStopping` ends the work early.
   */
  async removeRemains(isStopping: () => boolean): Promise<void> {
    await clearRemains(this.composition.dependencies, this.#remains, isStopping);
  }

  #change<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    const change = this.#lastChange.then(() => {
      if (this.#isDeleted) throw namespaceDeleted(this.name);
      return work();
    });
    this.#lastChange = change.catch(() => {});
    return change;
  }
}

/** ServiceBusy: the namespace is deleted at this moment, so a later request begins a new one. */
export function namespaceDeleted(name: string): BrokerError {
  return serviceBusy(
    `The namespace '${name}' is being deleted. Try again in a moment: the next request begins a new one.`,
  );
}
