import type { OnceRequest, StoreChosen } from '../../broker/ports/duplicates.ts';
import { assert } from '../../domain/assert.ts';
import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { inSession, type Log } from '../../domain/blocks/log.ts';
import { payloadName } from '../append/append.ts';
import { afterStoring } from '../dynamodb/errors.ts';
import { inParallel } from '../dynamodb/in-parallel.ts';
import { CONFLICT_TRIES_MAX, pauseBeforeRetry } from '../dynamodb/retries.ts';
import type { Item } from '../dynamodb/table.ts';
import { noteDue } from '../scheduling/next-due.ts';
import { duplicateKey, verdictKey } from '../schema/message-keys.ts';
import { addReady } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import { type Guard, GuardRefused } from './condition.ts';
import {
  type DuplicateRecord,
  fromRecordItem,
  fromVerdictItem,
  numberAt,
  placesAsBits,
  toRecordItem,
  toVerdictItem,
  type Verdict,
} from './records.ts';

/**
 * Has messages stored that do not come a second time. A single one goes in together with its record.
 * The records of a batch are made before, each by a write of its own, and count only once the batch
 * is stored: its verdict goes in with the messages. Whoever meets the record of a batch without a
 * verdict waits a moment and then gives the batch up, by a verdict of its own, after which that
 * batch can never be stored; its sender begins anew. So nothing that a crash leaves behind makes a
 * message a duplicate that is not there, and nothing is stored twice.
 */
export async function storeOnce(
  context: StoreContext,
  request: OnceRequest,
  store: StoreChosen,
): Promise<readonly (bigint | undefined)[]> {
  const sender = payloadName(context.random);
  for (let tries = 0; ; tries++) {
    await pauseBeforeRetry(context, tries, CONFLICT_TRIES_MAX);
    const attempt = new Attempt(context, request, `${sender}.${tries}`);
    try {
      return await attempt.carryOut(store);
    } catch (error) {
      if (!(error instanceof GuardRefused) || !attempt.isAbout(error)) throw error;
    }
  }
}

/** What a record says of a message that comes now. */
type Standing =
  /** Nothing stands in its way, unless the record of a batch that was given up. */
  | { readonly kind: 'new'; readonly givenUp?: string }
  | { readonly kind: 'known'; readonly number: bigint | undefined };

interface Keyed {
  readonly place: number;
  readonly key: string;
}

/** So many records of a batch are made at a time. */
const WIDTH = 50;

/**
 * How often one looks for the verdict on a batch before one gives it up; the pauses double. Of two
 * batches that met, the one with the lower name hardly waits, in this attempt and the next, so that they
 * do not give each other up for ever. Everybody else leaves a batch the time it needs.
 */
function looksFor(size: number, isBefore: boolean): number {
  if (isBefore) return LOOKS.hurried;
  return LOOKS.usual + Math.max(0, Math.ceil(Math.log2(size / USUAL_BATCH)));
}

const LOOKS = { hurried: 2, usual: 5 };
const USUAL_BATCH = 100;

/** One attempt, under a name that nobody else has. */
class Attempt {
  readonly #context: StoreContext;
  readonly #request: OnceRequest;
  readonly #name: string;
  readonly #keyed: readonly Keyed[];
  readonly #now: number;
  readonly #verdicts = new Map<string, Promise<Verdict>>();
  #guard: Guard | undefined;

  constructor(context: StoreContext, request: OnceRequest, name: string) {
    this.#context = context;
    this.#request = request;
    this.#name = name;
    this.#keyed = request.candidates.flatMap(({ key }, place) =>
      key === undefined ? [] : [{ place, key }],
    );
    this.#now = context.clock.now();
  }

  /** A write may stand under guards of several attempts; each begins anew where its own refused. */
  isAbout({ guard }: GuardRefused): boolean {
    return guard === undefined || guard === this.#guard;
  }

  async carryOut(store: StoreChosen): Promise<readonly (bigint | undefined)[]> {
    const [only] = this.#keyed;
    if (only !== undefined && !this.#isBatch) return await this.#storeOne(only, store);
    const originals = await this.#reserve();
    const isAnyNew = originals.size < this.#keyed.length;
    return await this.#store(
      store,
      originals,
      isAnyNew ? this.#verdictGuard(originals) : undefined,
    );
  }

  async #storeOne(keyed: Keyed, store: StoreChosen): Promise<readonly (bigint | undefined)[]> {
    const { entityId } = this.#request.log;
    const key = duplicateKey(entityId, keyed.key);
    const item = await this.#context.table.get(key, { consistent: true });
    const standing = await this.#standing(item);
    const guard = standing.kind === 'new' ? this.#recordGuard(keyed, standing.givenUp) : undefined;
    const originals = new Map(
      standing.kind === 'known' ? [[keyed.place, standing.number] as const] : [],
    );
    return await this.#store(store, originals, guard);
  }

  /** Stores what has no original; `originals` are the numbers of these, by place. */
  async #store(
    store: StoreChosen,
    originals: ReadonlyMap<number, bigint | undefined>,
    guard: Guard | undefined,
  ): Promise<readonly (bigint | undefined)[]> {
    const { candidates } = this.#request;
    this.#guard = guard;
    const places = [...candidates.keys()].filter((place) => !originals.has(place));
    const stored = places.length === 0 ? [] : await store(places, guard);
    await afterStoring(this.#noteDueAgain(originals));
    await afterStoring(this.#enlistAgain(originals));
    const numbers = new Map(places.map((place, i) => [place, stored[i]]));
    return candidates.map((_, place) => numbers.get(place) ?? originals.get(place));
  }

  /**
   * Who scheduled the original may have ended before it noted the due time for the second time, which
   * `append` does for a reason; its sender takes our answer for that one's.
   */
  async #noteDueAgain(originals: ReadonlyMap<number, bigint | undefined>): Promise<void> {
    const dues = new Map<number, number>();
    for (const [place, number] of originals) {
      const dueAt = this.#request.candidates[place]?.scheduledEnqueueAt;
      if (dueAt === undefined || number === undefined) continue;
      const { partition } = splitSequenceNumber(number);
      dues.set(partition, Math.min(dueAt, dues.get(partition) ?? dueAt));
    }
    const { log } = this.#request;
    await Promise.all(
      Array.from(dues, ([partition, dueAt]) =>
        noteDue(this.#context, { ...log, partition }, dueAt),
      ),
    );
  }

  /** The same for the index entry of a session, without which its messages are not found. */
  async #enlistAgain(originals: ReadonlyMap<number, bigint | undefined>): Promise<void> {
    const { candidates, log } = this.#request;
    if (log.sessions === undefined || originals.size === 0) return;
    const sessions = new Map<string, Log>();
    for (const [place, number] of originals) {
      const sessionId = candidates[place]?.sessionId;
      if (sessionId === undefined || number === undefined) continue;
      const { partition } = splitSequenceNumber(number);
      sessions.set(sessionId, inSession({ ...log, partition }, sessionId));
    }
    await addReady(this.#context, [...sessions.values()]);
  }

  /** Makes a record for each message that has none; returns the numbers of the others' originals. */
  async #reserve(): Promise<ReadonlyMap<number, bigint | undefined>> {
    const originals = new Map<number, bigint | undefined>();
    await inParallel(this.#keyed, WIDTH, async (one) => {
      const standing = await this.#reserveOne(one);
      if (standing.kind === 'known') originals.set(one.place, standing.number);
    });
    return originals;
  }

  async #reserveOne({ place, key }: Keyed): Promise<Standing> {
    const { entityId } = this.#request.log;
    const batch = { place, size: this.#keyed.length };
    const record = { until: this.#until, name: this.#name, batch };
    const item = toRecordItem(entityId, key, record);
    let givenUp: string | undefined;
    // Each time round, somebody else has written this very record in between.
    for (let tries = 0; tries < CONFLICT_TRIES_MAX; tries++) {
      const written = await this.#context.table.put(item, this.#unlessKnown(givenUp));
      if (written.done || this.#isOwn(written.old)) return { kind: 'new' };
      const standing = await this.#standing(written.old);
      if (standing.kind === 'known') return standing;
      givenUp = standing.givenUp;
    }
    // Others write the same record all the time.
    throw new GuardRefused();
  }

  async #standing(item: Item | undefined): Promise<Standing> {
    const record = item && fromRecordItem(item);
    if (record === undefined || record.until <= this.#now) return { kind: 'new' };
    const { batch, name, number } = record;
    if (batch === undefined) return { kind: 'known', number };
    const verdict = await this.#verdictOn(name, batch.size);
    return verdict.isStored
      ? { kind: 'known', number: numberAt(verdict, batch.place) }
      : { kind: 'new', givenUp: name };
  }

  /** What becomes of a batch; each is asked about once. */
  #verdictOn(name: string, size: number): Promise<Verdict> {
    const known = this.#verdicts.get(name) ?? this.#findVerdict(name, size);
    this.#verdicts.set(name, known);
    return known;
  }

  async #findVerdict(name: string, size: number): Promise<Verdict> {
    const { table } = this.#context;
    const { entityId } = this.#request.log;
    const looks = looksFor(size, this.#isBatch && this.#name < name);
    for (let look = 0; look < looks; look++) {
      await pauseBeforeRetry(this.#context, look, looks);
      const item = await table.get(verdictKey(entityId, name), { consistent: true });
      if (item !== undefined) return fromVerdictItem(item);
    }
    const givenUp: Verdict = { isStored: false };
    const item = toVerdictItem(entityId, name, givenUp, this.#until);
    const written = await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' });
    if (written.done) return givenUp;
    assert(written.old !== undefined, 'a verdict stands in the way of another');
    return fromVerdictItem(written.old);
  }

  /** The record of a single message, which counts at once. */
  #recordGuard({ place, key }: Keyed, givenUp: string | undefined): Guard {
    const { entityId } = this.#request.log;
    return (first) => {
      const number = first === undefined ? undefined : first + BigInt(place);
      const record: DuplicateRecord = { until: this.#until, name: this.#name, number };
      return {
        TableName: this.#context.table.name,
        Item: toRecordItem(entityId, key, record),
        ...this.#unlessKnown(givenUp),
      };
    };
  }

  /** The verdict by which the records of this attempt count. */
  #verdictGuard(originals: ReadonlyMap<number, unknown>): Guard {
    const { entityId } = this.#request.log;
    const dropped = placesAsBits([...originals.keys()]);
    return (first) => ({
      TableName: this.#context.table.name,
      Item: toVerdictItem(entityId, this.#name, { isStored: true, first, dropped }, this.#until),
      ConditionExpression: 'attribute_not_exists(pk)',
    });
  }

  /** A single one has no records that others wait for, so it can wait for theirs. */
  get #isBatch(): boolean {
    return this.#keyed.length > 1;
  }

  get #until(): number {
    return this.#now + this.#request.windowMs;
  }

  #isOwn(item: Item | undefined): boolean {
    return item !== undefined && fromRecordItem(item).name === this.#name;
  }

  /** A record may be made where there is none that counts. */
  #unlessKnown(givenUp: string | undefined) {
    const isFree = 'attribute_not_exists(pk) OR x <= :now';
    const isGivenUp = givenUp === undefined ? '' : ' OR n = :givenUp';
    return {
      ConditionExpression: isFree + isGivenUp,
      ExpressionAttributeValues: {
        ':now': { N: String(this.#now) },
        ...(givenUp === undefined ? {} : { ':givenUp': { S: givenUp } }),
      },
    };
  }
}
