import type {
  ReceivedMessage,
  SendOptions,
  SessionHandle,
  SessionLock,
  SettlementAction,
  TransactionOperation,
} from '../../../shared/broker/broker.ts';
import type { OutgoingMessage } from '../../../shared/domain/messages/message.ts';
import { Random } from '../machines/random.ts';
import { type CallSpec, pathOf } from './caller.ts';
import { type Delivery, deliveryOf } from './delivery.ts';
import type { Call, CallKind } from './history.ts';
import { Manager } from './manager.ts';

type ReceiveMode = 'peekLock' | 'receiveAndDelete';

/** A message to send. */
export interface Sent {
  /** Its MessageId. */
  readonly tag: string;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  readonly timeToLiveMs?: number;
  readonly delayMs?: number;
  readonly bytes?: number;
}

/** A client that uses the broker through one process. */
export class Actor extends Manager {
  /** Sets how far the wall clock of its process is ahead of the time of the world, ms. */
  setClock(aheadMs: number): void {
    this.process.aheadMs = aheadMs;
  }

  /** Sends messages, given by tag or in full; returns their numbers. */
  async send(path: string, ...messages: readonly (Sent | string)[]): Promise<readonly bigint[]> {
    return await this.#send(path, messages);
  }

  /** The same over the actor's link, whose sends stay in order. */
  async sendInOrder(path: string, ...messages: readonly (Sent | string)[]): Promise<void> {
    await this.#send(path, messages, { orderedBy: this });
  }

  async #send(
    path: string,
    messages: readonly (Sent | string)[],
    options: SendOptions = {},
  ): Promise<readonly bigint[]> {
    const sent = messages.map((one) => (typeof one === 'string' ? { tag: one } : one));
    const tags = sent.map(({ tag }) => tag);
    const kind = sent.some(({ delayMs }) => delayMs !== undefined) ? 'schedule' : 'send';
    const mayExpire = sent.some(({ timeToLiveMs }) => timeToLiveMs !== undefined);
    const spec: CallSpec = { kind, path, text: tags.join(' '), tags, mayExpire };
    const numbers = await this.ask(spec, async () => {
      const outgoing = sent.map((one) => this.#outgoing(one));
      const stored = await this.process.broker.send(pathOf(path), outgoing, options);
      return stored.flatMap(({ sequenceNumber }) =>
        sequenceNumber === undefined ? [] : [sequenceNumber],
      );
    });
    return numbers ?? [];
  }

  /** Receives up to `max` available messages under a lock, without waiting. */
  async receive(path: string, max = 1, session?: SessionHandle): Promise<readonly Delivery[]> {
    return await this.#receiveAs('peekLock', path, max, session);
  }

  async receiveAndDelete(
    path: string,
    max = 1,
    session?: SessionHandle,
  ): Promise<readonly Delivery[]> {
    return await this.#receiveAs('receiveAndDelete', path, max, session);
  }

  /** Receives a message, and aborts the receive; the explorer chooses when. */
  async receiveAborted(mode: ReceiveMode, path: string): Promise<readonly Delivery[]> {
    const abort = new AbortController();
    const options = { mode, maxMessages: 1, waitMs: 0, signal: abort.signal };
    return await this.#receive(kindOf(mode), path, (call) => {
      this.abortLater(call, abort);
      return this.process.broker.receive(pathOf(path), options);
    });
  }

  async receiveDeferred(
    path: string,
    ...sequenceNumbers: readonly bigint[]
  ): Promise<readonly Delivery[]> {
    return await this.#receive('receiveDeferred', path, () =>
      this.process.broker.receiveDeferred(pathOf(path), { mode: 'peekLock', sequenceNumbers }),
    );
  }

  async complete(delivery: Delivery | undefined): Promise<void> {
    await this.#settle(delivery, { kind: 'complete' });
  }

  async abandon(
    delivery: Delivery | undefined,
    how: Omit<Extract<SettlementAction, { kind: 'abandon' }>, 'kind'> = {},
  ): Promise<void> {
    await this.#settle(delivery, { kind: 'abandon', ...how });
  }

  async defer(delivery: Delivery | undefined): Promise<void> {
    await this.#settle(delivery, { kind: 'defer' });
  }

  async deadLetter(delivery: Delivery | undefined): Promise<void> {
    await this.#settle(delivery, { kind: 'deadLetter', reason: 'asked for' });
  }

  async renew(delivery: Delivery | undefined): Promise<void> {
    if (delivery?.lockToken === undefined) return;
    const { path, tag, lockToken } = delivery;
    await this.ask({ kind: 'renew', path, text: tag, tags: [tag], delivery }, async (call) => {
      const [outcome] = await this.process.broker.renewLocks(pathOf(path), [lockToken]);
      if (outcome?.refusal !== undefined) throw outcome.refusal;
      if (outcome?.lockedUntil !== undefined) call.lockedUntil = outcome.lockedUntil;
    });
  }

  /** Completes a message and sends others in one transaction. */
  async transact(
    completed: Delivery | undefined,
    sends: Readonly<Record<string, readonly (Sent | string)[]>>,
    identity?: string,
  ): Promise<void> {
    const sent = Object.entries(sends).map(([path, messages]) => ({
      path,
      messages: messages.map((one) => (typeof one === 'string' ? { tag: one } : one)),
    }));
    const tags = sent.flatMap(({ messages }) => messages.map(({ tag }) => tag));
    const settled: readonly TransactionOperation[] =
      completed?.lockToken === undefined
        ? []
        : [
            {
              kind: 'settle',
              path: pathOf(completed.path),
              settlement: { lockToken: completed.lockToken, action: { kind: 'complete' } },
              ...(completed.session && { sessionId: completed.session.sessionId }),
            },
          ];
    const text = `${completed === undefined ? '' : `complete ${completed.tag}, `}send ${tags.join(' ')}`;
    const path = completed?.path ?? sent[0]?.path ?? '';
    const spec: CallSpec = {
      kind: 'transact',
      path,
      text,
      tags,
      ...(completed === undefined ? {} : { delivery: completed }),
    };
    await this.ask(spec, async () => {
      await this.process.broker.transact({
        operations: [
          ...settled,
          ...sent.map(
            (one): TransactionOperation => ({
              kind: 'send',
              path: pathOf(one.path),
              messages: one.messages.map((message) => this.#outgoing(message)),
            }),
          ),
        ],
        ...(identity === undefined ? {} : { identity: { id: identity, fingerprint: identity } }),
      });
    });
  }

  async cancel(
    path: string,
    tags: readonly string[],
    sequenceNumbers: readonly bigint[],
  ): Promise<void> {
    if (sequenceNumbers.length < tags.length) return;
    await this.ask({ kind: 'cancel', path, text: tags.join(' '), tags }, () =>
      this.process.broker.cancelScheduled(pathOf(path), sequenceNumbers.slice(0, tags.length)),
    );
  }

  async accept(path: string, sessionId?: string): Promise<SessionLock | undefined> {
    return await this.ask({ kind: 'accept', path, text: sessionId ?? 'next' }, async (call) => {
      const options = { waitMs: 0, ...(sessionId === undefined ? {} : { sessionId }) };
      const lock = await this.process.broker.acceptSession(pathOf(path), options);
      call.answer = lock?.sessionId ?? 'none';
      if (lock !== undefined) {
        call.lockedUntil = lock.lockedUntil;
        call.session = lock.lockToken;
      }
      return lock;
    });
  }

  async renewSession(path: string, session: SessionLock | undefined): Promise<void> {
    if (session === undefined) return;
    const { sessionId: text, lockToken } = session;
    await this.ask({ kind: 'renewSession', path, text, session: lockToken }, async (call) => {
      const { lockedUntil } = await this.process.broker.renewSession(pathOf(path), session);
      call.lockedUntil = lockedUntil;
    });
  }

  async setState(path: string, session: SessionLock | undefined, state: string): Promise<void> {
    if (session === undefined) return;
    const spec: CallSpec = { kind: 'setState', path, text: state, session: session.lockToken };
    await this.ask(spec, () =>
      this.process.broker.setSessionState(pathOf(path), session, Buffer.from(state)),
    );
  }

  async readState(path: string, session: SessionLock | undefined): Promise<void> {
    if (session === undefined) return;
    const spec: CallSpec = { kind: 'readState', path, text: '', session: session.lockToken };
    await this.ask(spec, async (call) => {
      const state = await this.process.broker.sessionState(pathOf(path), session);
      call.answer = Buffer.from(state ?? []).toString();
    });
  }

  async release(path: string, session: SessionLock | undefined): Promise<void> {
    if (session === undefined) return;
    const { sessionId: text, lockToken } = session;
    await this.ask({ kind: 'release', path, text, session: lockToken }, () =>
      this.process.broker.releaseSession(pathOf(path), session),
    );
  }

  #outgoing({ tag, bytes = 4, delayMs, ...rest }: Sent): OutgoingMessage {
    return {
      body: new Random(tag).bytes(bytes),
      messageId: tag,
      properties: {},
      ...rest,
      ...(delayMs === undefined ? {} : { scheduledEnqueueAt: this.now() + delayMs }),
    };
  }

  async #settle(delivery: Delivery | undefined, action: SettlementAction): Promise<void> {
    if (delivery?.lockToken === undefined) return;
    const { path, tag, lockToken, session } = delivery;
    const { kind } = action;
    await this.ask({ kind, path, text: tag, tags: [tag], delivery }, async () => {
      const settlements = [{ lockToken, action }];
      const { broker } = this.process;
      const [outcome] = await broker.settle(pathOf(path), settlements, session?.sessionId);
      if (outcome?.refusal !== undefined) throw outcome.refusal;
    });
  }

  async #receiveAs(
    mode: ReceiveMode,
    path: string,
    maxMessages: number,
    session: SessionHandle | undefined,
  ): Promise<readonly Delivery[]> {
    const options = { mode, maxMessages, waitMs: 0, ...(session === undefined ? {} : { session }) };
    const work = () => this.process.broker.receive(pathOf(path), options);
    return await this.#receive(kindOf(mode), path, work, session);
  }

  async #receive(
    kind: CallKind,
    path: string,
    work: (call: Call) => Promise<readonly ReceivedMessage[]>,
    session?: SessionHandle,
  ): Promise<readonly Delivery[]> {
    const got = await this.ask({ kind, path, text: '' }, async (call) => {
      const messages = await work(call);
      call.deliveries = messages.map((one) => deliveryOf(path, one, session));
      call.answer = call.deliveries.map(({ tag }) => tag).join(' ') || 'nothing';
      return call.deliveries;
    });
    return got ?? [];
  }
}

function kindOf(mode: ReceiveMode): CallKind {
  return mode === 'peekLock' ? 'receive' : mode;
}
