import type { Clock, RandomSource } from '../../domain/clock.ts';
import type { Document, DocumentTable } from '../dynamodb/document-table.ts';
import { sweepStateKey } from '../schema/entity-keys.ts';

/** The progress of a walk over all entities. */
export interface WalkState {
  /** Epoch ms. */
  readonly beganAt: number;
  /** The key of the entity that was visited last; absent = the walk has reached the end. */
  readonly after?: string;
}

/**
 * The walks: one an hour, one a day. Earlier versions stored a `daily` walk, which did less than `full`; so a namespace
 * that they swept is walked at once.
 */
export const WALK_NAMES = ['hourly', 'full'] as const;
/** The name of a walk. */
export type WalkName = (typeof WALK_NAMES)[number];

/** Length of the lease: as long as the function may run (cdk/constructs/sweeping.ts). */
export const LEASE_MS = 55_000;
const HOLDER_BYTES = 9;

/** The dependencies of a lease. */
export interface SweepLeaseDependencies {
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
}

/**
 * The right to sweep a namespace, which one run at a time holds. The same document stores the progress of the walks.
 * Taking and releasing the lease costs one write unit each and no read.
 */
export class SweepLease {
  /** Whether the run before did not release the lease: its work may have ended its process. */
  readonly isTakenOver: boolean;
  readonly #dependencies: SweepLeaseDependencies;
  readonly #holder: string;
  readonly #walks: Map<WalkName, WalkState>;
  #isLost = false;

  private constructor(
    dependencies: SweepLeaseDependencies,
    holder: string,
    before: Document | undefined,
  ) {
    this.#dependencies = dependencies;
    this.#holder = holder;
    this.#walks = new Map(
      WALK_NAMES.flatMap((name) => {
        const state = before?.[name];
        return state === undefined ? [] : [[name, state as WalkState]];
      }),
    );
    const previous = before?.['heldBy'];
    this.isTakenOver = previous !== undefined && previous !== holder;
  }

  /** Takes the lease; undefined = another run holds it. */
  static async take(dependencies: SweepLeaseDependencies): Promise<SweepLease | undefined> {
    const { documents, namespace, clock, random } = dependencies;
    const holder = Buffer.from(random.bytes(HOLDER_BYTES)).toString('base64url');
    const now = clock.now();
    const outcome = await documents.update(sweepStateKey(namespace), {
      UpdateExpression: 'SET heldBy = :holder, heldUntil = :until',
      // A lease that ends much later than ours would was taken by a process whose clock was ahead. A lease of our
      // own was taken by an earlier try of this write.
      ConditionExpression:
        'attribute_not_exists(heldBy) OR heldUntil <= :now OR heldUntil > :latest OR heldBy = :holder',
      ExpressionAttributeValues: {
        ':holder': holder,
        ':until': now + LEASE_MS,
        ':now': now,
        ':latest': now + 2 * LEASE_MS,
      },
      ReturnValues: 'ALL_OLD',
    });
    return outcome.done ? new SweepLease(dependencies, holder, outcome.document) : undefined;
  }

  /** Whether another run has taken over the lease because this one took too long. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The progress of a walk; undefined = there was none yet. */
  stateOf(walk: WalkName): WalkState | undefined {
    return this.#walks.get(walk);
  }

  /** Sets the progress of a walk; `release` stores it. */
  setState(walk: WalkName, state: WalkState): void {
    this.#walks.set(walk, state);
  }

  /** Sets the progress of a walk and stores it at once. False = the lease is lost. */
  async storeState(walk: WalkName, state: WalkState): Promise<boolean> {
    this.setState(walk, state);
    return await this.#update({
      UpdateExpression: 'SET #walk = :state',
      ExpressionAttributeNames: { '#walk': walk },
      ExpressionAttributeValues: { ':state': state },
    });
  }

  /** Stores the progress of the walks, and lets the next run take the lease. */
  async release(): Promise<void> {
    if (this.#isLost) return;
    const walks = [...this.#walks];
    const remove = 'REMOVE heldBy, heldUntil';
    if (walks.length === 0) {
      await this.#update({ UpdateExpression: remove });
      return;
    }
    const sets = walks.map((_, place) => `#walk${place} = :state${place}`).join(', ');
    await this.#update({
      UpdateExpression: `SET ${sets} ${remove}`,
      ExpressionAttributeNames: Object.fromEntries(walks.map(([name], i) => [`#walk${i}`, name])),
      ExpressionAttributeValues: Object.fromEntries(
        walks.map(([, state], i) => [`:state${i}`, state]),
      ),
    });
  }

  async #update(
    update: Omit<Parameters<DocumentTable['update']>[1], 'ConditionExpression'>,
  ): Promise<boolean> {
    const { documents, namespace } = this.#dependencies;
    const { ExpressionAttributeValues: values } = update;
    const outcome = await documents.update(sweepStateKey(namespace), {
      ...update,
      ConditionExpression: 'heldBy = :holder',
      ExpressionAttributeValues: { ...values, ':holder': this.#holder },
    });
    // If an earlier try took effect without an answer, a release finds the lease gone.
    this.#isLost = !outcome.done;
    return outcome.done;
  }
}
