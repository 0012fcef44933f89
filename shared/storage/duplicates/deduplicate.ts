import type {
  DeduplicationCondition,
  DeduplicationRequest,
  DuplicateCheck,
  Reservation,
} from '../../broker/ports/duplicates.ts';
import { assert } from '../../domain/assert.ts';
import { splitSequenceNumber } from '../../domain/blocks/block.ts';
import { type Log, logOfSession } from '../../domain/blocks/log.ts';
import { BusyForThis } from '../../domain/broker-error.ts';
import type { RandomSource } from '../../domain/clock.ts';
import { DeduplicationRefused } from '../../domain/messages/duplicates.ts';
import { inParallel } from '../../domain/turns/in-parallel.ts';
import { CONFLICT_TRIES_MAX, pauseBeforeRetry } from '../dynamodb/retries.ts';
import type { Item } from '../dynamodb/table.ts';
import { afterStoring } from '../dynamodb/unknown-outcome.ts';
import { noteDue } from '../scheduling/next-due.ts';
import { batchDecisionKey, duplicateKey, randomName } from '../schema/message-keys.ts';
import { addReady } from '../sessions/ready-index.ts';
import type { StoreContext } from '../store-context.ts';
import { unlessKnown } from './condition.ts';
import {
  type BatchDecision,
  fromDecisionItem,
  fromRecordItem,
  numberAt,
  toDecisionItem,
  toRecordItem,
} from './records.ts';

/**
 * Finds out which messages are new (semantics #77). The record of a single message is only read here and is written
 * together with the message. The records of a batch are written here, one write each, and become valid with the batch
 * decision, which is written together with the messages. A process that finds a record without a decision waits a
 * moment and then gives that batch up by a decision of its own; the batch can then never be stored, and its sender
 * starts again. So no crash makes a message the duplicate of one that does not exist, and nothing is stored twice, even
 * if a sender without an answer repeats its send (semantics O7).
 *
 * One read for a single message; one write for each message of a batch. `refused` = the reservation whose condition
 * failed; its tries count too. `sibling` = another one of the same transaction. Throws ServiceBusy after
 * `CONFLICT_TRIES_MAX` tries.
 */
export async function reserve(
  context: StoreContext,
  request: DeduplicationRequest,
  refused?: Reservation,
  sibling?: Reservation,
): Promise<Reservation> {
  const send = refused?.attempt.send ?? nameOfSend(context.random, sibling);
  for (let tries = refused === undefined ? 0 : refused.attempt.tries + 1; ; tries++) {
    if (tries >= CONFLICT_TRIES_MAX) throw keptDeciding();
    await pauseBeforeRetry(context, tries, CONFLICT_TRIES_MAX);
    try {
      const reserved = await new Attempt(context, request, attemptName(send, tries)).reserve();
      return { ...reserved, request, attempt: { send, tries } };
    } catch (error) {
      if (!(error instanceof DeduplicationRefused)) throw error;
    }
  }
}

/** A unique name. Those of a transaction begin alike, so that they have the same place in the order of names. */
function nameOfSend(random: RandomSource, sibling: Reservation | undefined): string {
  return sibling === undefined ? randomName(random) : `${sibling.attempt.send}-`;
}

function attemptName(send: string, tries: number): string {
  return `${send}.${tries}`;
}

/** How many attempts of its send came before this one. */
function triesOf(attempt: string): number {
  return Number(attempt.slice(attempt.lastIndexOf('.') + 1));
}

function keptDeciding(): BusyForThis {
  return new BusyForThis('Other sends kept deciding about the same message ids. Try again.');
}

/**
 * Completes work that the senders of the originals may not have finished before a crash: noting a due time a second
 * time, as `append` does, and adding sessions to the ready-session index. The senders of the duplicates rely on the
 * same answer.
 */
export async function confirm(
  context: StoreContext,
  { request: { log, candidates }, checks }: Reservation,
): Promise<void> {
  const dues = new Map<number, number>();
  const sessions = new Map<string, Log>();
  for (const [index, check] of checks.entries()) {
    if (check.kind === 'new' || check.number === undefined) continue;
    const { partition } = splitSequenceNumber(check.number);
    const { scheduledEnqueueAt: dueAt, sessionId } = candidates[index] ?? {};
    if (dueAt !== undefined) dues.set(partition, Math.min(dueAt, dues.get(partition) ?? dueAt));
    if (log.sessions !== undefined && sessionId !== undefined) {
      sessions.set(sessionId, logOfSession({ ...log, partition }, sessionId));
    }
  }
  const noting = Array.from(dues, ([partition, dueAt]) =>
    noteDue(context, { ...log, partition }, dueAt),
  );
  await afterStoring(Promise.all(noting));
  if (sessions.size > 0) await addReady(context, [...sessions.values()]);
}

/** What a record says about a message of this send. */
type Found =
  /** `givenUp` = the attempt of a batch that was given up, whose record is replaced. */
  | { readonly kind: 'new'; readonly givenUp?: string }
  | Extract<DuplicateCheck, { kind: 'duplicate' }>;

interface Keyed {
  readonly index: number;
  readonly key: string;
}

/** How many records of a batch are written at the same time. */
const WIDTH = 50;

/**
 * How often a send looks for the decision on an attempt of another batch before it gives that attempt up; the pauses
 * double. If two batches wait for each other, the one whose name sorts first (`isBefore`) looks twice only. Names of
 * attempts begin with that of the send, so it is the same one each time, and the two do not keep giving each other up.
 * Otherwise, each further attempt of a batch gets one look more, so that a slow one gets done however many wait for it.
 * All looks of one wait take some 10 s at most, so that a request in a function outlives them.
 */
function looksFor({ tries, size }: { tries: number; size: number }, isBefore: boolean): number {
  if (isBefore) return LOOKS.hurried;
  const forSize = Math.max(0, Math.ceil(Math.log2(size / USUAL_BATCH)));
  return Math.min(LOOKS.most, LOOKS.usual + tries + forSize);
}

const LOOKS = { hurried: 2, usual: 5, most: 11 };
const USUAL_BATCH = 100;

/** One attempt, with a unique name. */
class Attempt {
  readonly #context: StoreContext;
  readonly #request: DeduplicationRequest;
  readonly #name: string;
  readonly #keyed: readonly Keyed[];
  readonly #now: number;
  readonly #decisions = new Map<string, Promise<BatchDecision>>();

  constructor(context: StoreContext, request: DeduplicationRequest, name: string) {
    this.#context = context;
    this.#request = request;
    this.#name = name;
    this.#keyed = request.candidates.flatMap(({ key }, index) =>
      key === undefined ? [] : [{ index, key }],
    );
    this.#now = context.clock.now();
  }

  /** Throws DeduplicationRefused if other sends keep writing the same records. */
  async reserve(): Promise<Pick<Reservation, 'checks' | 'condition'>> {
    const found = new Map<number, Found>();
    const [only] = this.#keyed;
    if (only !== undefined && !this.#isBatch) {
      found.set(only.index, await this.#look(only));
    } else {
      await inParallel(this.#keyed, WIDTH, async (one) => {
        found.set(one.index, await this.#reserveOne(one));
      });
    }
    const checks = this.#request.candidates.map((_, index): DuplicateCheck => {
      const check = found.get(index);
      return check?.kind === 'duplicate' ? check : { kind: 'new' };
    });
    return { checks, condition: this.#conditionOf(found) };
  }

  #conditionOf(found: ReadonlyMap<number, Found>): DeduplicationCondition | undefined {
    const isAnyNew = [...found.values()].some(({ kind }) => kind === 'new');
    const [only] = this.#keyed;
    if (!isAnyNew || only === undefined) return undefined;
    const { entityId } = this.#request.log;
    const about = { entityId, attempt: this.#name, now: this.#now, until: this.#until };
    if (!this.#isBatch) {
      const check = found.get(only.index);
      const replaces = check?.kind === 'new' ? check.givenUp : undefined;
      return { ...about, kind: 'message', ...only, replaces };
    }
    const duplicates = [...found.keys()].filter((index) => found.get(index)?.kind === 'duplicate');
    return { ...about, kind: 'batch', duplicates };
  }

  async #look({ key }: Keyed): Promise<Found> {
    const recordKey = duplicateKey(this.#request.log.entityId, key);
    return await this.#check(await this.#context.table.get(recordKey, { consistent: true }));
  }

  /** Writes the record of a message of a batch, unless there is a valid one. */
  async #reserveOne({ index, key }: Keyed): Promise<Found> {
    const { entityId } = this.#request.log;
    const batch = { index, size: this.#keyed.length };
    const record = { until: this.#until, name: this.#name, batch };
    const item = toRecordItem(entityId, key, record);
    let givenUp: string | undefined;
    // Before each further try, another send has written this record.
    for (let tries = 0; tries < CONFLICT_TRIES_MAX; tries++) {
      const written = await this.#context.table.put(item, unlessKnown(this.#now, givenUp));
      if (written.done || this.#isOwn(written.old)) return { kind: 'new' };
      const check = await this.#check(written.old);
      if (check.kind === 'duplicate') return check;
      givenUp = check.givenUp;
    }
    throw new DeduplicationRefused([this.#name]);
  }

  async #check(item: Item | undefined): Promise<Found> {
    const record = item && fromRecordItem(item);
    if (record === undefined || record.until <= this.#now) return { kind: 'new' };
    const { batch, name, number } = record;
    if (batch === undefined) return { kind: 'duplicate', number };
    const decision = await this.#decisionOn(name, batch.size);
    return decision.isStored
      ? { kind: 'duplicate', number: numberAt(decision, batch.index) }
      : { kind: 'new', givenUp: name };
  }

  /** Whether a batch is stored; looked up once for each batch. */
  #decisionOn(name: string, size: number): Promise<BatchDecision> {
    const known = this.#decisions.get(name) ?? this.#findDecision(name, size);
    this.#decisions.set(name, known);
    return known;
  }

  async #findDecision(name: string, size: number): Promise<BatchDecision> {
    const { table } = this.#context;
    const { entityId } = this.#request.log;
    const looks = looksFor({ tries: triesOf(name), size }, this.#isBatch && this.#name < name);
    for (let look = 0; look < looks; look++) {
      await pauseBeforeRetry(this.#context, look, looks);
      const item = await table.get(batchDecisionKey(entityId, name), { consistent: true });
      if (item !== undefined) return fromDecisionItem(item);
    }
    const givenUp: BatchDecision = { isStored: false };
    const item = toDecisionItem(entityId, name, givenUp, this.#until);
    const written = await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' });
    if (written.done) return givenUp;
    assert(written.old !== undefined, 'a decision stands in the way of another');
    return fromDecisionItem(written.old);
  }

  /** Whether the send has several messages with keys. No other send waits for a single message's record. */
  get #isBatch(): boolean {
    return this.#keyed.length > 1;
  }

  /** The window of what is accepted now; a duplicate writes no record and lengthens none (semantics #78). */
  get #until(): number {
    return this.#now + this.#request.windowMs;
  }

  #isOwn(item: Item | undefined): boolean {
    return item !== undefined && fromRecordItem(item).name === this.#name;
  }
}
