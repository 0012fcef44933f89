import type { BrokerErrorCode } from '../../shared/domain/broker-error.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { partitionsOf } from '../../shared/domain/entity.ts';
import type { EntityPath } from '../../shared/domain/entity-path.ts';
import type { OutgoingMessage } from '../../shared/domain/message.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import { readDelivery } from '../messages/read-message.ts';
import { ACCEPTED } from '../wire/states.ts';
import { tell } from './conditions.ts';
import type { ClientContext } from './context.ts';

/** Deliveries that are stored by one write where they come together. */
const GROUP_MAX = 100;
const GROUP_BYTES_MAX = 512 * 1024;

/** Refusals that come before anything is stored, and may be due to one message among many. */
const OF_ONE: ReadonlySet<BrokerErrorCode> = new Set([
  'ArgumentError',
  'InvalidOperation',
  'MessageSizeExceeded',
  'QuotaExceeded',
]);

interface Read {
  readonly delivery: IncomingDelivery;
  readonly messages: readonly OutgoingMessage[];
}

/**
 * Stores what comes in on a link, in order. What arrives while an earlier write is under way goes into
 * the next one together; each delivery has its own outcome, told once it is durable.
 */
export class Publisher {
  readonly #context: ClientContext;
  readonly #link: IncomingLink;
  readonly #path: EntityPath;
  readonly #pathname: string;
  readonly #pending: IncomingDelivery[] = [];
  #isRunning = false;

  constructor(
    context: ClientContext,
    link: IncomingLink,
    { path, pathname }: { readonly path: EntityPath; readonly pathname: string },
  ) {
    this.#context = context;
    this.#link = link;
    this.#path = path;
    this.#pathname = pathname;
  }

  take(delivery: IncomingDelivery): void {
    this.#pending.push(delivery);
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Deliveries of the same turn are there before it runs.
    const { background, parts } = this.#context;
    parts.scheduler.soon(() => background(() => this.#run()));
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      await this.#context.parts.workTurns.next();
      await this.#store(this.#nextGroup());
    }
    this.#isRunning = false;
  }

  #nextGroup(): readonly IncomingDelivery[] {
    let bytes = 0;
    let count = 0;
    for (const { payload } of this.#pending.slice(0, GROUP_MAX)) {
      bytes += payload.byteLength;
      if (count > 0 && bytes > GROUP_BYTES_MAX) break;
      count++;
    }
    return this.#pending.splice(0, count);
  }

  async #store(group: readonly IncomingDelivery[]): Promise<void> {
    const read: Read[] = [];
    for (const delivery of group) {
      try {
        requireWhole(delivery);
        read.push({ delivery, messages: readDelivery(delivery.payload, delivery.format) });
      } catch (error) {
        this.#refuse([delivery], error);
      }
    }
    // To store what takes long to read takes as long again.
    await this.#context.parts.workTurns.next();
    const isEnlisted = ({ delivery: { state } }: Read) => state?.kind === 'transactional';
    for (const one of read.filter(isEnlisted)) await this.#enlist(one);
    const others = read.filter((one) => !isEnlisted(one));
    for (const one of await this.#mayShare(others)) await this.#send(one);
  }

  /**
   * In an entity with partitions a batch goes to one of them, by its key: no two keys share one. Where
   * it cannot be read, each is sent, and refused, on its own.
   */
  async #mayShare(read: readonly Read[]): Promise<readonly (readonly Read[])[]> {
    if (read.length < 2) return read.length === 0 ? [] : [read];
    const entity = await this.#context.parts.entities.find(this.#path.key).catch(() => undefined);
    return entity === undefined || partitionsOf(entity) > 1 ? read.map((one) => [one]) : [read];
  }

  async #send(group: readonly Read[]): Promise<void> {
    const deliveries = group.map(({ delivery }) => delivery);
    const { authorization, parts } = this.#context;
    try {
      await authorization.require(this.#pathname, this.#path, ['Send']);
      const messages = group.flatMap((one) => one.messages);
      await parts.broker.send(this.#path, messages);
      this.#settle(deliveries, ACCEPTED);
    } catch (error) {
      const isOfOne = error instanceof BrokerError && OF_ONE.has(error.code);
      if (group.length === 1 || !isOfOne) this.#refuse(deliveries, error);
      else for (const one of group) await this.#send([one]);
    }
  }

  /** Messages of a transaction are stored when it is discharged; until then they are only noted. */
  async #enlist({ delivery, messages }: Read): Promise<void> {
    const { authorization, transactions } = this.#context;
    const transaction =
      delivery.state?.kind === 'transactional' ? delivery.state.transaction : new Uint8Array();
    try {
      await authorization.require(this.#pathname, this.#path, ['Send']);
      const bytes = delivery.payload.byteLength;
      transactions.add(transaction, { kind: 'send', path: this.#path, messages }, { bytes });
      this.#settle([delivery], { kind: 'transactional', transaction, outcome: ACCEPTED });
    } catch (error) {
      this.#refuse([delivery], error);
    }
  }

  #refuse(deliveries: readonly IncomingDelivery[], error: unknown): void {
    const { condition, description } = tell(this.#context.parts, error, this.#path.name);
    this.#settle(deliveries, { kind: 'rejected', error: { condition, description } });
  }

  #settle(deliveries: readonly IncomingDelivery[], state: Parameters<IncomingLink['settle']>[1]) {
    this.#link.settle(deliveries, state);
  }
}

function requireWhole({ isTooLarge, payload }: IncomingDelivery): void {
  if (!isTooLarge) return;
  throw new BrokerError(
    'MessageSizeExceeded',
    `The received message is larger than the link allows: more than ${payload.byteLength} bytes.`,
  );
}
