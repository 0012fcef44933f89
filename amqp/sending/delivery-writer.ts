import {
  type BrokerError,
  messageSizeExceeded,
  noMemoryFor,
} from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import { resultOf } from '../../shared/domain/result-of.ts';
import { pause } from '../../shared/domain/scheduler.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import { readDelivery } from '../messages/read-message.ts';
import type { ClientContext } from '../service/context.ts';
import { rejection } from '../service/error-mapping.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { ACCEPTED, type Outcome } from '../wire/states.ts';
import type { DecodedAccount } from './decoded-budget.ts';
import { OutcomeReports } from './outcome-reports.ts';
import { type ReadDelivery, turnBytesOf } from './read-delivery.ts';
import { SendsUnderWay } from './sends-under-way.ts';

/** The pause between two tries to store a presettled delivery while the process is out of memory. */
const BUSY_PAUSE_MS = { first: 100, most: 5000 };
const { heldPerByte: HELD_PER_BYTE, turnBytes: TURN_BYTES } = BUDGETS.delivery;

/** The entity that messages of a link are sent to. */
export interface DeliveryWriterOptions {
  readonly path: EntityPath;
  readonly pathname: string;
  /** The largest delivery that the link accepts, bytes: more than it announces, since batches may be larger. */
  readonly acceptedBytes: number;
}

/** How to decode the next group: normally, alone, or alone after a pause. */
type NextRead = 'group' | 'alone' | 'later';

interface Group {
  readonly read: readonly ReadDelivery[];
  readonly bytes: number;
  readonly next: NextRead;
}

/** There is currently no memory for a decoded delivery. */
class NoMemory extends Error {}

/**
 * Stores the deliveries of a link, in order; the broker stores those that are at hand together. Each delivery gets its
 * own outcome, which is sent once its messages are durable (semantics #B1, #B3).
 */
export class DeliveryWriter {
  readonly #context: ClientContext;
  readonly #link: IncomingLink;
  readonly #path: EntityPath;
  readonly #pathname: string;
  readonly #acceptedBytes: number;
  #pending: IncomingDelivery[] = [];
  /** The enlistments of transactional deliveries without an outcome. */
  readonly #enlistments = new Map<IncomingDelivery, Enlistment>();
  #isRunning = false;
  readonly #sends = new SendsUnderWay();
  readonly #reports: OutcomeReports;

  constructor(
    context: ClientContext,
    link: IncomingLink,
    { path, pathname, acceptedBytes }: DeliveryWriterOptions,
  ) {
    this.#context = context;
    this.#link = link;
    this.#path = path;
    this.#pathname = pathname;
    this.#acceptedBytes = acceptedBytes;
    this.#reports = new OutcomeReports({ link, sendNow: () => context.sendNow() });
  }

  /** Adds a delivery to be stored, or to be added to its transaction. */
  add(delivery: IncomingDelivery): void {
    const { state } = delivery;
    if (state?.kind === 'transactional') {
      this.#enlistments.set(delivery, this.#context.transactions.enlist(state.transaction));
    }
    this.#pending.push(delivery);
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Deferred, so that all deliveries of this turn are decoded together.
    const { background, limits, dependencies } = this.#context;
    const stopListening = limits.onGone((isAll) => this.#abort(isAll));
    dependencies.scheduler.soon(() => background(() => this.#run().finally(stopListening)));
  }

  async #run(): Promise<void> {
    const { decodedBudget, dependencies } = this.#context;
    let isAlone = false;
    let busyMs = BUSY_PAUSE_MS.first;
    while (this.#pending.length > 0) {
      const [next] = this.#pending;
      if (next !== undefined && !this.#sends.hasRoomFor(next)) {
        await this.#sends.any();
        continue;
      }
      const how = await this.#storeNext(await decodedBudget.open(isAlone));
      isAlone = how !== 'group';
      if (how === 'later') await pause(dependencies.scheduler, busyMs);
      busyMs = how === 'later' ? Math.min(2 * busyMs, BUSY_PAUSE_MS.most) : BUSY_PAUSE_MS.first;
    }
    this.#isRunning = false;
  }

  /** Aborts waiting deliveries that the peer has not settled, or all. */
  #abort(isAll: boolean): void {
    const isKept = ({ settled }: IncomingDelivery) => settled && !isAll;
    const aborted = this.#pending.filter((delivery) => !isKept(delivery));
    this.#pending = this.#pending.filter(isKept);
    this.#link.abort(aborted);
    this.#refuseEnlisted(aborted);
  }

  /**
   * Decodes the next group and starts to store it; `decoded` counts the memory of its decoded messages until they are
   * stored.
   */
  async #storeNext(decoded: DecodedAccount): Promise<NextRead> {
    let stored: Promise<void> | undefined;
    try {
      const { read, bytes, next } = await this.#readGroup(decoded);
      if (bytes > TURN_BYTES) await this.#waitToStore(bytes, read);
      const outsideTransactions: ReadDelivery[] = [];
      for (const one of read) {
        const enlistment = this.#enlistments.get(one.delivery);
        if (enlistment === undefined) outsideTransactions.push(one);
        else await this.#enlist(one, enlistment);
      }
      if (await this.#maySend(outsideTransactions)) {
        stored = this.#sends.add(outsideTransactions, this.#send(outsideTransactions));
      }
      return next;
    } finally {
      const ended = Promise.resolve(stored);
      this.#context.background(() => ended.finally(() => decoded.close()));
    }
  }

  /** Waits for a turn to store a large group: that takes about as long as to decode it. */
  async #waitToStore(bytes: number, read: readonly ReadDelivery[]): Promise<void> {
    const longest = Math.max(...read.map(({ delivery }) => delivery.payload.byteLength));
    await this.#context.readingTurns.before(bytes, this.#context, longest);
  }

  /** Decodes as many deliveries as fit into memory, up to the limits of a group. */
  async #readGroup(decoded: DecodedAccount): Promise<Group> {
    const read: ReadDelivery[] = [];
    let bytes = 0;
    const room = this.#sends.room;
    const most = decoded.isAlone ? 1 : room.deliveries;
    for (let count = 0; count < most; count++) {
      const bytesMax = count === 0 ? Number.POSITIVE_INFINITY : room.bytes - bytes;
      const delivery = await this.#nextDelivery(bytesMax);
      if (delivery === undefined) break;
      bytes += delivery.payload.byteLength;
      try {
        read.push({ delivery, messages: this.#read(delivery, decoded) });
      } catch (error) {
        const isFirst = read.length === 0;
        const next =
          error instanceof NoMemory ? retryOf(delivery, decoded.isAlone, isFirst) : undefined;
        if (next === undefined) {
          this.#refuse([delivery], error instanceof NoMemory ? noMemoryFor('messages') : error);
        } else {
          this.#pending.unshift(delivery);
          return { read, bytes, next };
        }
      }
    }
    return { read, bytes, next: 'group' };
  }

  /** Waits for a turn and takes the next delivery; undefined if none has at most `bytesMax` bytes. */
  async #nextDelivery(bytesMax: number): Promise<IncomingDelivery | undefined> {
    const { readingTurns } = this.#context;
    for (;;) {
      const [next] = this.#pending;
      if (next === undefined || next.payload.byteLength > bytesMax) return undefined;
      await readingTurns.before(turnBytesOf(next), this.#context);
      // It may have been aborted meanwhile.
      if (this.#pending[0] === next) return this.#pending.shift();
    }
  }

  /** Decodes the messages of a delivery. Throws NoMemory, with nothing held, if they do not fit now. */
  #read(delivery: IncomingDelivery, decoded: DecodedAccount): readonly OutgoingMessage[] {
    const { payload, format } = delivery;
    const { limit } = this.#context.dependencies.memory;
    let held = 0;
    const hold = (bytes: number) => {
      if (bytes < 0) decoded.release(-bytes);
      else if (payload.byteLength + held + bytes > limit) throw neverFits();
      else if (!decoded.hold(bytes)) throw new NoMemory();
      held += bytes;
    };
    try {
      this.#requireWithinLimit(delivery);
      hold(payload.byteLength * HELD_PER_BYTE);
      return readDelivery(payload, format, hold);
    } catch (error) {
      decoded.release(held);
      throw error;
    }
  }

  /** Whether there are deliveries that the peer has the right to send; refuses them otherwise. */
  async #maySend(deliveries: readonly ReadDelivery[]): Promise<boolean> {
    if (deliveries.length === 0) return false;
    try {
      await this.#context.authorization.require(this.#pathname, this.#path, ['Send']);
      return true;
    } catch (error) {
      this.#refuse(
        deliveries.map(({ delivery }) => delivery),
        error,
      );
      return false;
    }
  }

  /** Sends deliveries, which the broker stores together if it can, and reports the outcome of each. */
  async #send(group: readonly ReadDelivery[]): Promise<void> {
    await Promise.all(group.map((one) => this.#sendOne(one)));
  }

  async #sendOne({ delivery, messages }: ReadDelivery): Promise<void> {
    const { broker } = this.#context.dependencies;
    const sending = broker.send(this.#path, messages, { orderedBy: this.#link });
    const result = await resultOf(sending);
    await this.#reports.add(delivery, 'error' in result ? this.#rejected(result.error) : ACCEPTED);
  }

  /** Adds messages to their transaction, which stores them when it is discharged. */
  async #enlist({ delivery, messages }: ReadDelivery, enlistment: Enlistment): Promise<void> {
    const { authorization } = this.#context;
    const { transaction } = enlistment;
    try {
      await authorization.require(this.#pathname, this.#path, ['Send']);
      const need = { pathname: this.#pathname, path: this.#path, right: 'Send' } as const;
      enlistment.add({ kind: 'send', path: this.#path, messages }, need);
      enlistment.end();
      this.#enlistments.delete(delivery);
      this.#link.settle([delivery], { kind: 'transactional', transaction, outcome: ACCEPTED });
    } catch (error) {
      this.#refuse([delivery], error);
    }
  }

  /** Refuses a delivery above `acceptedBytes`; `requireSendableMessages` refuses smaller ones (semantics W21). */
  #requireWithinLimit({ isTooLarge }: IncomingDelivery): void {
    if (!isTooLarge) return;
    throw messageSizeExceeded(
      `The received message is larger than the link allows: more than ${this.#acceptedBytes} bytes.`,
    );
  }

  #refuseEnlisted(deliveries: readonly IncomingDelivery[]): void {
    for (const delivery of deliveries) {
      this.#enlistments.get(delivery)?.refuse();
      this.#enlistments.delete(delivery);
    }
  }

  #refuse(deliveries: readonly IncomingDelivery[], error: unknown): void {
    this.#refuseEnlisted(deliveries);
    this.#link.settle(deliveries, this.#rejected(error));
  }

  #rejected(error: unknown): Outcome {
    return rejection(this.#context.dependencies, error, this.#path.name);
  }
}

/** Returns how to retry a delivery that did not fit into memory; undefined = it is refused. */
function retryOf(
  { settled, state }: IncomingDelivery,
  isAlone: boolean,
  isFirst: boolean,
): NextRead | undefined {
  if (!isFirst) return 'group';
  if (!isAlone) return 'alone';
  // A refused delivery of a transaction makes the discharge fail, so the client learns of it there.
  return settled && state === undefined ? 'later' : undefined;
}

function neverFits(): BrokerError {
  return messageSizeExceeded(
    'The message is larger than the memory of the service. Send smaller messages, or give the service more memory.',
  );
}
