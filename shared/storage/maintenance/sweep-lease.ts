import type { Clock, RandomSource } from '../../domain/clock.ts';
import type { Document, DocumentTable } from '../dynamodb/document-table.ts';
import { sweepStateKey } from '../schema/entity-keys.ts';

/** How far a walk over all entities has come. */
export interface WalkState {
  /** Epoch ms. */
  readonly beganAt: number;
  /** The key of the entity that was visited last; absent = the walk has reached the end. */
  readonly after?: string;
}

/** The walks: one in every run, one in an hour, one in a day. */
export const WALK_NAMES = ['idle', 'hourly', 'daily'] as const;
export type WalkName = (typeof WALK_NAMES)[number];

/** A run holds its lease for as long as its function may run (cdk/constructs/sweeping.ts). */
export const LEASE_MS = 55_000;
const HOLDER_BYTES = 9;

export interface SweepLeaseParts {
  readonly documents: DocumentTable;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
}

/**
 * The right to sweep a namespace, held by one run at a time, and how far the walks have come, which is in
 * the same document. Taking and releasing it costs one write unit each and no read.
 */
export class SweepLease {
  /** Whether the run before did not end by itself: it may have died of what it worked on. */
  readonly isTakenOver: boolean;
  readonly #parts: SweepLeaseParts;
  readonly #holder: string;
  readonly #walks: Map<WalkName, WalkState>;
  #isLost = false;

  private constructor(parts: SweepLeaseParts, holder: string, before: Document | undefined) {
    this.#parts = parts;
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
  static async take(parts: SweepLeaseParts): Promise<SweepLease | undefined> {
    const { documents, namespace, clock, random } = parts;
    const holder = Buffer.from(random.bytes(HOLDER_BYTES)).toString('base64url');
    const now = clock.now();
    const outcome = await documents.update(sweepStateKey(namespace), {
      UpdateExpression: 'SET heldBy = :holder, heldUntil = :until',
      // A lease that ends later than ours would is one of a clock that was ahead. Our own is one that an
      // earlier try of this write took.
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
    return outcome.done ? new SweepLease(parts, holder, outcome.document) : undefined;
  }

  /** Whether another run has taken the lease over, because this one took too long. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** How far a walk has come; undefined = there never was one. */
  stateOf(walk: WalkName): WalkState | undefined {
    return this.#walks.get(walk);
  }

  /** Sets how far a walk has come. It is stored when the lease is released. */
  setState(walk: WalkName, state: WalkState): void {
    this.#walks.set(walk, state);
  }

  /** Sets how far a walk has come and stores it at once. False = the lease is lost. */
  async storeState(walk: WalkName, state: WalkState): Promise<boolean> {
    this.setState(walk, state);
    return await this.#update({
      UpdateExpression: 'SET #walk = :state',
      ExpressionAttributeNames: { '#walk': walk },
      ExpressionAttributeValues: { ':state': state },
    });
  }

  /** Lets the next run begin, and stores how far the walks have come. */
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
    const { documents, namespace } = this.#parts;
    const { ExpressionAttributeValues: values } = update;
    const outcome = await documents.update(sweepStateKey(namespace), {
      ...update,
      ConditionExpression: 'heldBy = :holder',
      ExpressionAttributeValues: { ...values, ':holder': this.#holder },
    });
    // After an earlier try that may have been carried out, a release finds the lease gone.
    this.#isLost = !outcome.done;
    return outcome.done;
  }
}
