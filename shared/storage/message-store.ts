import type { DeadLetterAction, TransactionIdentity } from '../broker/broker.ts';
import type { Forward, Publication } from '../broker/ports/deliveries.ts';
import type {
  DeduplicationCondition,
  DeduplicationRequest,
  Reservation,
} from '../broker/ports/duplicates.ts';
import type {
  ClaimRequest,
  DeferredRequest,
  MessageStore,
  PeekRequest,
  RemoveBeforeRequest,
  ResubmitRequest,
  RoomRequest,
  TokenSettlement,
} from '../broker/ports/messages.ts';
import type { StoredTransaction } from '../broker/ports/transactions.ts';
import type { BlockRules } from '../domain/blocks/block.ts';
import type { LockToken } from '../domain/blocks/lock-token.ts';
import { type Log, withoutSession } from '../domain/blocks/log.ts';
import type { LogPolicy } from '../domain/blocks/log-policy.ts';
import type { BrokerError } from '../domain/broker-error.ts';
import type { Entity } from '../domain/entities/entity.ts';
import type { Message } from '../domain/messages/message.ts';
import { append } from './append/append.ts';
import { hasRoom } from './append/quota.ts';
import { sizeOf } from './blocks/pack-blocks.ts';
import { claim } from './claim/claim.ts';
import { receiveDeferred } from './claim/deferred.ts';
import { confirm, reserve } from './duplicates/deduplicate.ts';
import { beforeStoring } from './dynamodb/errors.ts';
import { forwardAll } from './fan-out/forward-all.ts';
import { publish } from './fan-out/publish.ts';
import { lockScopeOf } from './hints/scan-hints.ts';
import {
  breakLock,
  deadLetterByNumber,
  reactivate,
  removeByNumber,
} from './messages/by-sequence-number.ts';
import { peek } from './messages/peek.ts';
import { removeBefore } from './messages/remove-before.ts';
import { resubmit } from './messages/resubmit.ts';
import { activateDue, forwardDue } from './scheduling/activate.ts';
import { cancelScheduled } from './scheduling/cancel-scheduled.ts';
import { takeNumbers } from './scheduling/partition-header.ts';
import { logName } from './schema/message-keys.ts';
import { deadLetterLapsed } from './settle/dead-letter-lapsed.ts';
import { renew } from './settle/renew.ts';
import { settle } from './settle/settle.ts';
import type { StoreContext } from './store-context.ts';
import { transact } from './transactions/transact.ts';
import { conclude, recall } from './transactions/transaction-record.ts';

/** Not sooner: the sweep that leaves something has to strike off the entry it works on. */
const LEFT_FOR_MS = 60_000;

/** Messages in DynamoDB, by blocks and slots. */
export class DynamoMessageStore implements MessageStore {
  readonly #context: StoreContext;
  readonly #measure: (entity: Entity) => Promise<number>;

  /** `measure` tells how many bytes an entity holds, at the price of reading all its blocks. */
  constructor(context: StoreContext, measure: (entity: Entity) => Promise<number>) {
    this.#context = context;
    this.#measure = measure;
  }

  hasRoom(entity: Entity, request: RoomRequest) {
    return hasRoom(this.#context, entity, request, () => this.#measure(entity));
  }

  append(log: Log, messages: readonly Message[], now: number, condition?: DeduplicationCondition) {
    return append(this.#context, log, messages, now, condition);
  }

  reserve(request: DeduplicationRequest, refused?: Reservation) {
    return reserve(this.#context, request, refused);
  }

  confirm(request: DeduplicationRequest, reservation: Reservation) {
    return confirm(this.#context, request, reservation);
  }

  async takeNumbers(log: Log, messages: readonly Message[], count: number): Promise<bigint> {
    const { table, clock, sizeEstimate } = this.#context;
    const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
    const taken = await beforeStoring(takeNumbers(table, log, { count, bytes, now: clock.now() }));
    sizeEstimate.noteStored(log, taken.bytesIn);
    return taken.first;
  }

  publish(publication: Publication) {
    return publish(this.#context, publication);
  }

  activateDue(log: Log) {
    return activateDue(this.#context, log, this.#context.clock.now());
  }

  forwardDue(log: Log, forward: Forward) {
    return forwardDue(this.#context, log, forward);
  }

  forwardAll(log: Log, policy: LogPolicy, forward: Forward) {
    return forwardAll(this.#context, log, policy, forward);
  }

  leaveToSweep(log: Log) {
    const { background, clock, addDueWork } = this.#context;
    background(() => addDueWork(log, clock.now() + LEFT_FOR_MS));
  }

  claim(log: Log, request: ClaimRequest) {
    return claim(this.#context, log, request);
  }

  changesAt(log: Log, { rules }: LogPolicy) {
    const { scanHints, dueTimes, clock } = this.#context;
    const hint = scanHints.find(logName(log), clock.now(), lockScopeOf(rules));
    const dueAt = log.subQueue === 'main' ? dueTimes.nextDueAt(withoutSession(log)) : undefined;
    return Math.min(
      hint?.validUntil ?? Number.POSITIVE_INFINITY,
      dueAt ?? Number.POSITIVE_INFINITY,
    );
  }

  settle(log: Log, settlements: readonly TokenSettlement[], policy: LogPolicy) {
    return settle(this.#context, log, settlements, policy);
  }

  transact(transaction: StoredTransaction) {
    return transact(this.#context, transaction);
  }

  recall(identity: TransactionIdentity) {
    return recall(this.#context, identity);
  }

  conclude(identity: TransactionIdentity, refusal: BrokerError) {
    return conclude(this.#context, identity, refusal);
  }

  renew(log: Log, tokens: readonly LockToken[], lockMs: number, rules: BlockRules) {
    return renew(this.#context, log, tokens, lockMs, rules);
  }

  deadLetterLapsed(log: Log, policy: LogPolicy) {
    return deadLetterLapsed(this.#context, log, policy);
  }

  peek(log: Log, request: PeekRequest) {
    return peek(this.#context, log, request);
  }

  receiveDeferred(log: Log, request: DeferredRequest) {
    return receiveDeferred(this.#context, log, request);
  }

  cancelScheduled(log: Log, sequences: readonly bigint[]) {
    return cancelScheduled(this.#context, log, sequences);
  }

  breakLock(log: Log, sequence: bigint, policy: LogPolicy) {
    return breakLock(this.#context, log, sequence, policy);
  }

  reactivate(log: Log, sequence: bigint, policy: LogPolicy) {
    return reactivate(this.#context, log, sequence, policy);
  }

  remove(log: Log, sequence: bigint, policy: LogPolicy) {
    return removeByNumber(this.#context, log, sequence, policy);
  }

  deadLetter(log: Log, sequence: bigint, action: DeadLetterAction, policy: LogPolicy) {
    return deadLetterByNumber(this.#context, log, sequence, action, policy);
  }

  removeBefore(log: Log, request: RemoveBeforeRequest, policy: LogPolicy) {
    return removeBefore(this.#context, log, request, policy);
  }

  resubmit(log: Log, to: Log, request: ResubmitRequest, policy: LogPolicy) {
    return resubmit(this.#context, log, to, request, policy);
  }
}
