import type {
  Broker,
  ReceivedMessage,
  ReceiveOptions,
  RenewalOutcome,
  SentMessage,
  Settlement,
  SettlementOutcome,
} from '../../shared/broker/broker.ts';
import { entityNotFound, lockLost } from '../../shared/domain/broker-error.ts';
import { type EntityPath, pathOf } from '../../shared/domain/entity-path.ts';
import type { LockedMessage, OutgoingMessage } from '../../shared/domain/message.ts';

/** Noon of a day in 2026, the time at which everything in the fake happens. */
export const FAKE_NOW = Date.UTC(2026, 0, 15, 12);
const LOCK_MS = 60_000;

/**
 * A broker of plain lists, for tests of a transport: entities exist by being named, messages come
 * in order, locks never run out, and what was called is remembered.
 */
export class FakeBroker implements Broker {
  readonly received: { readonly path: EntityPath; readonly options: ReceiveOptions }[] = [];
  readonly settled: { readonly path: EntityPath; readonly settlements: readonly Settlement[] }[] =
    [];
  /** Thrown by the next call of that name. */
  readonly failures: Partial<Record<keyof Broker, unknown>> = {};
  readonly #waiting = new Map<string, LockedMessage[]>();
  readonly #locked = new Map<string, LockedMessage>();
  #lastNumber = 0n;

  constructor(entities: readonly string[]) {
    for (const entity of entities) this.#waiting.set(entity, []);
  }

  /** What waits in an entity, as it was sent. */
  waiting(path: string): readonly LockedMessage[] {
    return this.#waiting.get(path) ?? [];
  }

  /** Puts a message into an entity just as it is. */
  put(path: string, message: Partial<LockedMessage> & Pick<LockedMessage, 'message'>): void {
    this.#lastNumber += 1n;
    this.#waiting.get(path)?.push({
      sequenceNumber: this.#lastNumber,
      enqueuedAt: FAKE_NOW,
      failedDeliveries: 0,
      state: 'Active',
      lockToken: `00000000-0000-4000-8000-${String(this.#lastNumber).padStart(12, '0')}`,
      lockedUntil: FAKE_NOW + LOCK_MS,
      ...message,
    });
  }

  async send(
    path: EntityPath,
    messages: readonly OutgoingMessage[],
  ): Promise<readonly SentMessage[]> {
    this.#failIfTold('send');
    this.#of(path);
    return messages.map((message) => {
      const messageId = message.messageId ?? 'given-by-the-broker';
      this.put(pathOf(path.key, path.subQueue), {
        message: { ...message, messageId },
        ...(message.timeToLiveMs === undefined ? {} : { timeToLiveMs: message.timeToLiveMs }),
      });
      return { messageId, sequenceNumber: this.#lastNumber };
    });
  }

  async receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]> {
    this.#failIfTold('receive');
    this.received.push({ path, options });
    const messages = this.#of(path).splice(0, options.maxMessages);
    if (options.mode === 'receiveAndDelete') {
      return messages.map(({ lockToken, lockedUntil, ...stored }) => stored);
    }
    for (const message of messages) this.#locked.set(message.lockToken, message);
    return messages;
  }

  async settle(
    path: EntityPath,
    settlements: readonly Settlement[],
  ): Promise<readonly SettlementOutcome[]> {
    this.#failIfTold('settle');
    this.#of(path);
    this.settled.push({ path, settlements });
    return settlements.map(({ lockToken, action }) => {
      const message = this.#locked.get(lockToken);
      if (message === undefined) return { lockToken, refusal: lockLost() };
      this.#locked.delete(lockToken);
      if (action.kind === 'abandon') this.#of(path).unshift(message);
      return { lockToken };
    });
  }

  async renewLocks(
    path: EntityPath,
    lockTokens: readonly string[],
  ): Promise<readonly RenewalOutcome[]> {
    this.#failIfTold('renewLocks');
    this.#of(path);
    return lockTokens.map((lockToken) =>
      this.#locked.has(lockToken)
        ? { lockToken, lockedUntil: FAKE_NOW + 2 * LOCK_MS }
        : { lockToken, refusal: lockLost() },
    );
  }

  #of(path: EntityPath): LockedMessage[] {
    const address = pathOf(path.key, path.subQueue);
    const messages = this.#waiting.get(address);
    if (messages === undefined) throw entityNotFound(address);
    return messages;
  }

  #failIfTold(call: keyof Broker): void {
    const failure = this.failures[call];
    delete this.failures[call];
    if (failure !== undefined) throw failure;
  }
}
