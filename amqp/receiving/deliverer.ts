import type { ReceivedMessage, SessionHandle } from '../../shared/broker/broker.ts';
import { isSessionLockLost } from '../../shared/domain/blocks/session.ts';
import { isBusy } from '../../shared/domain/broker-error.ts';
import type { AccessRight } from '../../shared/domain/entities/descriptions.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';
import type { OutgoingLink, OutgoingTransfer } from '../endpoint/outgoing-link.ts';
import { guidBytes, swapGuid } from '../messages/property-values.ts';
import { withLockEndShown, withScheduledState, writeMessage } from '../messages/write-message.ts';
import { WritingTurns } from '../messages/writing-turns.ts';
import type { EntityNode } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import type { ClaimAllowance } from './claim-budget.ts';
import { CreditWait } from './credit-wait.ts';
import { UnsentMessages } from './unsent-messages.ts';

/** How long one receive of the broker waits. Each new one looks twice in DynamoDB, whatever others have seen. */
const WAIT_MS = 60 * 60_000;
/** How often the right to receive is checked during a receive. */
const CHECK_MS = 60_000;
/** The pause before the next try of a busy service, or for a rule at its rate limit, which connections may share. */
const BUSY_PAUSE_MS = { first: 100, most: 1000 };
/** How long after the end of its session lock a link is detached: a busy client takes a while to end its own wait. */
export const LOST_LOCK_DETACH_MS = 1000;
/** The sender settle mode in which messages are sent settled, and so received and deleted (semantics W11). */
const SETTLED = 1;

/** The reason of an aborted wait. Without one the runtime creates an exception, which costs more CPU. */
export const WAIT_ENDED = 'The wait was aborted.';

const LISTEN: readonly AccessRight[] = ['Listen'];

/** The link to deliver to, its entity, and the session that it holds, if any. */
export interface DelivererOptions {
  readonly link: OutgoingLink;
  readonly node: EntityNode;
  readonly session?: SessionHandle;
}

/**
 * Delivers messages on a link as long as it has credit. It keeps one receive of the broker waiting, which a
 * send in this process wakes at once.
 */
export class Deliverer {
  readonly #context: ClientContext;
  readonly #scheduler: Scheduler;
  readonly #options: DelivererOptions;
  readonly #mode: 'peekLock' | 'receiveAndDelete';
  readonly #unsent: UnsentMessages;
  readonly #creditWait: CreditWait;
  readonly #stopListening: () => void;
  #isRunning = false;
  /** Aborts the receive under way. */
  #wait: AbortController | undefined;
  #sentCount = 0;

  constructor(context: ClientContext, options: DelivererOptions) {
    this.#context = context;
    this.#scheduler = context.dependencies.scheduler;
    this.#options = options;
    const { node, session } = options;
    this.#unsent = new UnsentMessages(context, node.path, session !== undefined);
    this.#creditWait = new CreditWait(this.#scheduler, options.link);
    const isSettled = options.link.attach.senderSettleMode === SETTLED;
    this.#mode = isSettled ? 'receiveAndDelete' : 'peekLock';
    options.link.onFlow(() => this.#wake());
    this.#stopListening = context.shutdown.onBegin(() => this.#endWait());
  }

  /** Starts, since the link is open. The peer may have granted credit before it received our attach. */
  start(): void {
    if (this.#mayDeliver) this.#wake();
  }

  /** Stops, since the link has ended. */
  stop(): void {
    this.#stopListening();
    // In turns, because all links of a connection end at once.
    if (this.#wait !== undefined) void this.#context.endTurns.next().then(() => this.#endWait());
  }

  #endWait(): void {
    this.#wait?.abort(WAIT_ENDED);
  }

  get #mayDeliver(): boolean {
    const { link } = this.#options;
    return link.isOpen && link.credit > 0 && !this.#context.shutdown.hasBegun;
  }

  #wake(): void {
    // A peer that drains wants the messages available now, and no wait.
    if (this.#options.link.isDraining) this.#endWait();
    this.#creditWait.check();
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
    // Credit may have arrived after the last check of the loop.
    if (this.#mayDeliver) this.#wake();
  }

  async #receiveOnce(): Promise<void> {
    const { link } = this.#options;
    await this.#creditWait.ended();
    await this.#untilAdmitted();
    // The end of the link would not abort a wait that begins after it.
    if (!this.#mayDeliver) return;
    const limit = Math.min(link.credit, LIMITS.receiveMessages);
    const claim = this.#context.claimBudget.claim(limit, () => this.#mayDeliver);
    let wasBusy = false;
    try {
      if (await claim.begin()) await this.#handOut(claim, limit);
    } catch (error) {
      // Nothing was claimed: the database is busy, or there is no memory for a large message now.
      if (!isBusy(error)) throw error;
      wasBusy = true;
    } finally {
      claim.end();
    }
    if (wasBusy) await pause(this.#scheduler, BUSY_PAUSE_MS.most);
  }

  async #handOut(claim: ClaimAllowance, limit: number): Promise<void> {
    const { link } = this.#options;
    const isDraining = link.isDraining;
    const messages = await this.#receive(isDraining ? 0 : WAIT_MS, claim, limit);
    if (link.isOpen) await this.#sendAll(messages, claim);
    else this.#unsent.putBackAll(messages);
    // Only a query that began after the drain was requested proves that there are no messages.
    if (isDraining && messages.length === 0) link.drained();
  }

  /** Requires the right to receive, and waits while the rule that grants it is at its rate limit. */
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
        if (!isBusy(error)) throw error;
      }
      await pause(this.#scheduler, ms);
    }
  }

  /** Sends messages in order, and waits after a large one until the peer has taken it. */
  async #sendAll(messages: readonly ReceivedMessage[], claim: ClaimAllowance): Promise<void> {
    const { link } = this.#options;
    const { claimBudget, dependencies } = this.#context;
    const turns = new WritingTurns(dependencies.workTurns, this.#context);
    const isWanted = () => link.isOpen;
    for (const [i, message] of messages.entries()) {
      await turns.before(message);
      const outgoing = this.#tryEncode(message);
      if (outgoing === undefined) continue;
      const send = () => {
        claim.releaseLarge();
        link.deliver(outgoing);
      };
      const isSent = await claimBudget.send(outgoing.payload.byteLength, isWanted, send);
      if (!isSent) return this.#unsent.putBackAll(messages.slice(i));
    }
    this.#context.sendNow();
  }

  async #receive(
    waitMs: number,
    claim: ClaimAllowance,
    limit: number,
  ): Promise<readonly ReceivedMessage[]> {
    const { link, node, session } = this.#options;
    const { background, dependencies } = this.#context;
    const wait = new AbortController();
    this.#wait = wait;
    const check = this.#scheduler.every(CHECK_MS, () => background(() => this.#checkRight()));
    try {
      if (!this.#mayDeliver) return [];
      return await dependencies.broker.receive(node.path, {
        mode: this.#mode,
        maxMessages: Math.min(link.credit, limit),
        waitMs,
        signal: wait.signal,
        beforeAttempt: async () => {
          if ((await claim.begin()) && this.#mayDeliver) return await this.#confirmRight();
          // The link has ended. In turns, because one message may wake receives of many ended links.
          await this.#context.endTurns.next();
          this.#endWait();
        },
        onWait: () => claim.end(),
        payloads: claim,
        waitForTurn: () => this.#claimTurn(),
        isWanted: () => this.#mayDeliver,
        session,
      });
    } finally {
      check.cancel();
      this.#wait = undefined;
    }
  }

  /** Waits for a turn to claim the messages that were found, and aborts if the link has ended by then. */
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
      // Whatever is claimed is checked for again, so a busy database need not end the link.
      if (!isBusy(error)) this.#refuse(error);
    }
  }

  /**
   * Detaches the link with the error of a receive, such as that its entity was deleted (semantics W10). After a lost
   * session lock it waits LOST_LOCK_DETACH_MS first: a client whose own wait ends with the lock then closes the link
   * itself, and gets no error.
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
   * Encodes a message. If that fails, it reports the fault, returns the message to its queue, and continues
   * with the others. In a session it throws instead, because later messages must not overtake this one.
   */
  #tryEncode(message: ReceivedMessage): OutgoingTransfer | undefined {
    try {
      return this.#encode(message);
    } catch (error) {
      if (this.#options.session !== undefined)
        throw new Error('A message cannot be encoded.', { cause: error });
      this.#context.dependencies.reportFault(error);
      this.#unsent.putBackUnwritable(message);
      return undefined;
    }
  }

  #encode(message: ReceivedMessage): OutgoingTransfer {
    const { lockEndShown } = this.#context.dependencies;
    const payload = writeMessage(withLockEndShown(withScheduledState(message), lockEndShown));
    if ('lockToken' in message) {
      const tag = swapGuid(guidBytes(message.lockToken));
      return { tag, payload, settled: false, onDropped: () => this.#unsent.putBack(message) };
    }
    const tag = Buffer.alloc(16);
    tag.writeUInt32BE(this.#sentCount++ >>> 0);
    return { tag, payload, settled: true };
  }
}
