import type {
  AcceptOptions,
  Broker,
  DeferredOptions,
  DeleteOptions,
  ListSessionsOptions,
  OperationOutcome,
  OperatorAction,
  PeekOptions,
  ReceivedMessage,
  ReceiveOptions,
  RenewalOutcome,
  SentMessage,
  SessionHandle,
  SessionLock,
  Settlement,
  SettlementOutcome,
  Transaction,
} from '../../shared/broker/broker.ts';
import { sessionCannotBeLocked, sessionLockLost } from '../../shared/domain/blocks/session.ts';
import { BrokerError, entityNotFound, lockLost } from '../../shared/domain/broker-error.ts';
import { type EntityPath, pathOf } from '../../shared/domain/entities/entity-path.ts';
import type {
  LockedMessage,
  OutgoingMessage,
  StoredMessage,
} from '../../shared/domain/messages/message.ts';
import { present } from '../../shared/domain/present.ts';

/** The fixed current time of the fake broker. */
export const FAKE_NOW = Date.UTC(2026, 0, 15, 12);
const LOCK_MS = 60_000;
/** The lock token of every session of the fake broker. */
export const SESSION_LOCK = '00000000-0000-4000-8000-00000000005e';

/**
 * A broker of plain lists, for tests of a protocol: it has the entities given to the constructor, delivers
 * messages in order, never expires locks, and records its calls.
 */
export class FakeBroker implements Broker {
  readonly received: { readonly path: EntityPath; readonly options: ReceiveOptions }[] = [];
  readonly settled: { path: EntityPath; settlements: readonly Settlement[] }[] = [];
  /** All other calls, with their arguments after the path. */
  readonly calls: (readonly [call: keyof Broker, ...options: unknown[]])[] = [];
  /** Errors by the name of the call: the next such call throws it. */
  readonly failures: Partial<Record<keyof Broker, unknown>> = {};
  readonly #waiting = new Map<string, LockedMessage[]>();
  readonly #locked = new Map<string, LockedMessage>();
  readonly #states = new Map<string, Uint8Array>();
  #lastNumber = 0n;

  constructor(entities: readonly string[]) {
    for (const entity of entities) this.#waiting.set(entity, []);
  }

  /** The messages that wait in an entity, as they were sent. */
  waiting(path: string): readonly LockedMessage[] {
    return this.#waiting.get(path) ?? [];
  }

  /** Puts a message into an entity, with defaults for the missing fields. */
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
        state: (message.scheduledEnqueueAt ?? 0) > FAKE_NOW ? 'Scheduled' : 'Active',
        ...(message.timeToLiveMs === undefined ? {} : { timeToLiveMs: message.timeToLiveMs }),
      });
      return { messageId, sequenceNumber: this.#lastNumber };
    });
  }

  async receive(path: EntityPath, options: ReceiveOptions): Promise<readonly ReceivedMessage[]> {
    this.#failIfTold('receive');
    this.received.push({ path, options: given(options) });
    const active = this.#of(path).filter(({ state }) => state === 'Active');
    return this.#handOut(path, options.mode, active.slice(0, options.maxMessages));
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

  /** The session `held` is locked by another client. */
  async acceptSession(path: EntityPath, options: AcceptOptions): Promise<SessionLock | undefined> {
    this.#note('acceptSession', options);
    this.#of(path);
    const { sessionId } = options;
    if (sessionId === 'held') throw sessionCannotBeLocked(sessionId);
    return sessionId === undefined ? undefined : locked({ sessionId, lockToken: SESSION_LOCK });
  }

  async renewSession(path: EntityPath, session: SessionHandle): Promise<SessionLock> {
    this.#inSession('renewSession', path, session);
    return locked(session);
  }

  async releaseSession(path: EntityPath, session: SessionHandle): Promise<void> {
    this.#inSession('releaseSession', path, session);
  }

  async sessionState(path: EntityPath, session: SessionHandle): Promise<Uint8Array | undefined> {
    this.#inSession('sessionState', path, session);
    return this.#states.get(session.sessionId);
  }

  async setSessionState(
    path: EntityPath,
    session: SessionHandle,
    state: Uint8Array | undefined,
  ): Promise<void> {
    this.#inSession('setSessionState', path, session);
    if (state === undefined) this.#states.delete(session.sessionId);
    else this.#states.set(session.sessionId, state);
  }

  async listSessions(path: EntityPath, options: ListSessionsOptions): Promise<readonly string[]> {
    this.#note('listSessions', options);
    this.#of(path);
    return [...this.#states.keys()].slice(options.skip, options.skip + options.top);
  }

  #inSession(call: keyof Broker, path: EntityPath, session: SessionHandle): void {
    this.#note(call, session);
    this.#of(path);
    if (session.lockToken !== SESSION_LOCK) throw sessionLockLost();
  }

  /** Runs one operation after the other; a failure does not roll back earlier ones. */
  async transact({ operations, identity }: Transaction): Promise<readonly OperationOutcome[]> {
    this.#note('transact', identity);
    const outcomes = operations.map(async (operation): Promise<OperationOutcome> => {
      const { kind, path } = operation;
      if (kind === 'send') {
        const sent = await this.send(path, operation.messages);
        return { kind: 'sent', sequenceNumbers: sent.map(({ sequenceNumber: one }) => one) };
      }
      if (kind === 'renew') {
        const [renewal] = await this.renewLocks(path, [operation.lockToken]);
        if (renewal?.lockedUntil === undefined) throw lockLost();
        return { kind: 'renewed', lockedUntil: renewal.lockedUntil };
      }
      const [settled] = await this.settle(path, [operation.settlement]);
      if (settled?.refusal !== undefined) throw settled.refusal;
      return { kind: 'settled' };
    });
    return await Promise.all(outcomes);
  }

  async cancelScheduled(path: EntityPath, sequenceNumbers: readonly bigint[]): Promise<void> {
    this.#note('cancelScheduled', sequenceNumbers);
    this.#take(path, this.#named(path, 'Scheduled', sequenceNumbers));
  }

  async peek(path: EntityPath, options: PeekOptions): Promise<readonly StoredMessage[]> {
    this.#note('peek', options);
    const { fromSequenceNumber = 0n, maxMessages } = options;
    return this.#of(path)
      .filter(({ sequenceNumber }) => sequenceNumber >= fromSequenceNumber)
      .slice(0, maxMessages)
      .map(withoutLock);
  }

  async receiveDeferred(path: EntityPath, options: DeferredOptions) {
    this.#note('receiveDeferred', options);
    const messages = this.#named(path, 'Deferred', options.sequenceNumbers);
    return this.#handOut(path, options.mode, messages);
  }

  /** Reports success for each number of an existing message, without doing anything. */
  async operate(path: EntityPath, operation: OperatorAction, sequenceNumbers: readonly bigint[]) {
    this.#note('operate', operation, sequenceNumbers);
    const known = new Set(this.#of(path).map(({ sequenceNumber }) => sequenceNumber));
    return sequenceNumbers.map((number) => known.has(number));
  }

  async deleteMessages(path: EntityPath, options: DeleteOptions): Promise<number> {
    this.#note('deleteMessages', options);
    const old = this.#of(path).filter(({ enqueuedAt }) => enqueuedAt < options.before);
    return this.#take(path, old.slice(0, options.maxMessages)).length;
  }

  async resubmit(...[path, { maxMessages, to = path }]: Parameters<Broker['resubmit']>) {
    this.#note('resubmit', maxMessages);
    if (path.subQueue === 'main') throw new BrokerError('InvalidOperation', 'No dead letters.');
    const messages = this.#take(path, this.#of(path).slice(0, maxMessages));
    this.#of({ ...to, subQueue: 'main' }).push(...messages);
    return messages.length;
  }

  async purge(path: EntityPath): Promise<void> {
    this.#note('purge');
    this.#take(path, [...this.#of(path)]);
  }

  #note(call: keyof Broker, ...options: unknown[]): void {
    this.#failIfTold(call);
    this.calls.push([call, ...options.map(given)]);
  }

  #named(
    path: EntityPath,
    state: LockedMessage['state'],
    sequenceNumbers: readonly bigint[],
  ): readonly LockedMessage[] {
    return sequenceNumbers.map((number) => {
      const found = this.#of(path).find(
        (message) => message.sequenceNumber === number && message.state === state,
      );
      if (found === undefined) throw new BrokerError('MessageNotFound', `No message ${number}.`);
      return found;
    });
  }

  #take(path: EntityPath, messages: readonly LockedMessage[]): readonly LockedMessage[] {
    const waiting = this.#of(path);
    for (const message of messages) waiting.splice(waiting.indexOf(message), 1);
    return messages;
  }

  #handOut(
    path: EntityPath,
    mode: ReceiveOptions['mode'],
    messages: readonly LockedMessage[],
  ): readonly ReceivedMessage[] {
    this.#take(path, messages);
    if (mode === 'receiveAndDelete') return messages.map(withoutLock);
    for (const message of messages) this.#locked.set(message.lockToken, message);
    return messages;
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

function locked(session: SessionHandle): SessionLock {
  return { ...session, lockedUntil: FAKE_NOW + LOCK_MS };
}

function withoutLock({ lockToken, lockedUntil, ...stored }: LockedMessage): StoredMessage {
  return stored;
}

/** Options without those that are undefined, which count as not given. */
const given = <Options>(options: Options): Options =>
  options?.constructor === Object ? (present(options) as Options) : options;
