import type { ReceivedMessage, SessionHandle } from '../../shared/broker/broker.ts';
import { isSessionLockLost } from '../../shared/domain/blocks/session.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';
import type { OutgoingLink, OutgoingTransfer } from '../endpoint/outgoing-link.ts';
import { guidBytes, swapGuid } from '../messages/property-values.ts';
import { withScheduledState, writeMessage } from '../messages/write-message.ts';
import { WritingTurns } from '../messages/writing-turns.ts';
import type { Node } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import type { Claim } from './claim-budget.ts';
import { UnsentMessages } from './unsent-messages.ts';

/** How long one receive of the broker waits; then it is asked again, which costs a look. */
const WAIT_MS = 10 * 60_000;
/** Meanwhile, it is asked this often whether the peer may still receive. */
const CHECK_MS = 60_000;
/** A rule that may do no more for now is asked again after so long: others may have the same one. */
const BUSY_PAUSE_MS = { first: 100, most: 1000 };
/** So long, more credit is waited for where the peer is about to give it bit by bit. */
const GATHER_MS = 10;
/** A link ends so long after the lock of its session. */
export const LOST_LOCK_DETACH_MS = 250;
/** The sender's mode in which messages are settled as they go out. */
const SETTLED = 1;

/** Why a wait is over. Without a reason the runtime makes an exception, which takes longer than all else. */
export const WAIT_ENDED = 'Nothing is waited for any more.';

const LISTEN: readonly AccessRight[] = ['Listen'];

export interface DelivererOptions {
  readonly link: OutgoingLink;
  readonly node: Extract<Node, { readonly path: unknown }>;
  readonly session?: SessionHandle;
}

/**
 * Hands out messages on a link as long as there is credit. One waiting receive of the broker stands
 * behind it, which a send in this process wakes at once.
 */
export class Deliverer {
  readonly #context: ClientContext;
  readonly #scheduler: Scheduler;
  readonly #options: DelivererOptions;
  readonly #mode: 'peekLock' | 'receiveAndDelete';
  readonly #unsent: UnsentMessages;
  readonly #stopListening: () => void;
  #isRunning = false;
  /** Ends the receive that is under way. */
  #receiveAbort: AbortController | undefined;
  #sentCount = 0;

  constructor(context: ClientContext, options: DelivererOptions) {
    this.#context = context;
    this.#scheduler = context.dependencies.scheduler;
    this.#options = options;
    const { node, session } = options;
    this.#unsent = new UnsentMessages(context, node.path, session !== undefined);
    const isSettled = options.link.attach.senderSettleMode === SETTLED;
    this.#mode = isSettled ? 'receiveAndDelete' : 'peekLock';
    options.link.onFlow(() => this.#wake());
    this.#stopListening = context.shutdown.onBegin(() => this.#endWait());
  }

  /** The link is open; the peer may have given credit before it heard of that. */
  start(): void {
    if (this.#mayDeliver) this.#wake();
  }

  /** Ends what is waiting, since the link has ended. */
  stop(): void {
    this.#stopListening();
    // With a connection many links end at once.
    if (this.#receiveAbort !== undefined)
      void this.#context.endTurns.next().then(() => this.#endWait());
  }

  #endWait(): void {
    this.#receiveAbort?.abort(WAIT_ENDED);
  }

  get #mayDeliver(): boolean {
    const { link } = this.#options;
    return link.isOpen && link.credit > 0 && !this.#context.shutdown.hasBegun;
  }

  #wake(): void {
    // Who drains wants what there is now: the wait is over.
    if (this.#options.link.isDraining) this.#endWait();
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#scheduler.soon(() => this.#context.background(() => this.#run()));
  }

  async #run(): Promise<void> {
    const { link } = this.#options;
    try {
      while (this.#mayDeliver) await this.#receiveOnce();
      link.drained();
    } catch (error) {
      await this.#endLink(error);
    } finally {
      this.#isRunning = false;
    }
    // Credit may have come between the last look and the end.
    if (this.#mayDeliver) this.#wake();
  }

  async #receiveOnce(): Promise<void> {
    const { link } = this.#options;
    // It works on more than it wants, so it will want more: what is claimed at once costs one write.
    if (link.credit < link.unsettledCount && !link.isDraining)
      await pause(this.#scheduler, GATHER_MS);
    await this.#untilAdmitted();
    // Nobody would end a wait that begins after the end of the link.
    if (!this.#mayDeliver) return;
    const messagesMax = Math.min(link.credit, LIMITS.receiveMessages);
    const claim = this.#context.claimBudget.claim(messagesMax, () => this.#mayDeliver);
    let isRefused = false;
    try {
      if (await claim.begin()) await this.#handOut(claim, messagesMax);
    } catch (error) {
      if (!claim.isRefusal(error)) throw error;
      isRefused = true;
    } finally {
      claim.end();
    }
    if (isRefused) await pause(this.#scheduler, BUSY_PAUSE_MS.most);
  }

  async #handOut(claim: Claim, messagesMax: number): Promise<void> {
    const { link } = this.#options;
    const isDraining = link.isDraining;
    const messages = await this.#receive(isDraining ? 0 : WAIT_MS, claim, messagesMax);
    if (link.isOpen) await this.#sendAll(messages, claim);
    else this.#unsent.dropAll(messages);
    // Only a look after the drain was asked for can say that there is nothing.
    if (isDraining && messages.length === 0) link.drained();
  }

  /** Counts a receive for the rule that gives the right to it, once that may do more. */
  async #untilAdmitted(): Promise<void> {
    const { path, pathname } = this.#options.node;
    for (
      let ms = BUSY_PAUSE_MS.first;
      this.#mayDeliver;
      ms = Math.min(2 * ms, BUSY_PAUSE_MS.most)
    ) {
      try {
        await this.#context.authorization.require(pathname, path, LISTEN);
        return;
      } catch (error) {
        if (!(error instanceof BrokerError) || error.code !== 'ServiceBusy') throw error;
      }
      await pause(this.#scheduler, ms);
    }
  }

  /** Sends messages in order; the peer takes one that is large before the next. */
  async #sendAll(messages: readonly ReceivedMessage[], claim: Claim): Promise<void> {
    const { link } = this.#options;
    const { claimBudget, dependencies } = this.#context;
    const turns = new WritingTurns(dependencies.workTurns, this.#context);
    const isWanted = () => link.isOpen;
    for (const [i, message] of messages.entries()) {
      await turns.before(message);
      const outgoing = this.#tryEncode(message);
      if (outgoing === undefined) continue;
      const send = () => {
        claim.sending();
        link.deliver(outgoing);
      };
      const isSent = await claimBudget.send(outgoing.payload.byteLength, isWanted, send);
      if (!isSent) return this.#unsent.dropAll(messages.slice(i));
    }
    this.#context.sendNow();
  }

  async #receive(
    waitMs: number,
    claim: Claim,
    messagesMax: number,
  ): Promise<readonly ReceivedMessage[]> {
    const { link, node, session } = this.#options;
    const { background, dependencies } = this.#context;
    const wait = new AbortController();
    this.#receiveAbort = wait;
    const check = this.#scheduler.every(CHECK_MS, () => background(() => this.#checkRight()));
    try {
      if (!this.#mayDeliver) return [];
      return await dependencies.broker.receive(node.path, {
        mode: this.#mode,
        maxMessages: Math.min(link.credit, messagesMax),
        waitMs,
        signal: wait.signal,
        admit: async () => {
          if ((await claim.begin()) && this.#mayDeliver) return await this.#confirmRight();
          // Nothing is to be claimed. The message that has woken it may wake all of many that have ended.
          await this.#context.endTurns.next();
          this.#endWait();
        },
        onWait: () => claim.end(),
        payloads: claim,
        turn: () => this.#claimTurn(),
        isWanted: () => this.#mayDeliver,
        ...(session === undefined ? {} : { session }),
      });
    } finally {
      check.cancel();
      this.#receiveAbort = undefined;
    }
  }

  /** Waits for a turn to claim what was found, which nobody may want any more then. */
  async #claimTurn(): Promise<void> {
    await this.#context.claimTurns.next();
    if (!this.#mayDeliver) this.#endWait();
  }

  async #confirmRight(): Promise<void> {
    const { path, pathname } = this.#options.node;
    await this.#context.authorization.confirm(pathname, path, LISTEN);
  }

  async #checkRight(): Promise<void> {
    try {
      await this.#confirmRight();
    } catch (error) {
      this.#refuse(error);
    }
  }

  /**
   * Ends the link with what a receive failed with. If the lock of its session is lost, that is told a moment
   * later: a client that waits for as long as the lock lasts ends its wait just then, and has lost nothing.
   */
  async #endLink(error: unknown): Promise<void> {
    const { link } = this.#options;
    if (isSessionLockLost(error)) {
      await pause(this.#scheduler, LOST_LOCK_DETACH_MS);
      link.drained();
    }
    this.#refuse(error);
  }

  #refuse(error: unknown): void {
    const { link, node } = this.#options;
    link.detach(mapError(this.#context.dependencies, error, node.path.name));
  }

  /**
   * A message that cannot be written goes back, and keeps nobody from the others: one fault of ours. In a
   * session, none may come before it: the error is thrown.
   */
  #tryEncode(message: ReceivedMessage): OutgoingTransfer | undefined {
    try {
      return this.#encode(message);
    } catch (error) {
      if (this.#options.session !== undefined)
        throw new Error('A message cannot be written.', { cause: error });
      this.#context.dependencies.reportFault(error);
      this.#unsent.dropUnwritable(message);
      return undefined;
    }
  }

  #encode(message: ReceivedMessage): OutgoingTransfer {
    const payload = writeMessage(withScheduledState(message));
    if ('lockToken' in message) {
      const tag = swapGuid(guidBytes(message.lockToken));
      return { tag, payload, settled: false, onDropped: () => this.#unsent.drop(message) };
    }
    const tag = Buffer.alloc(16);
    tag.writeUInt32BE(this.#sentCount++ >>> 0);
    return { tag, payload, settled: true };
  }
}
