import type { ReceivedMessage, SessionHandle } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { AccessRight } from '../../shared/domain/descriptions.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { pause, type Scheduler } from '../../shared/domain/scheduler.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { guidBytes, swapGuid } from '../messages/property-values.ts';
import { writeMessage } from '../messages/write-message.ts';
import type { Node } from './address.ts';
import { tell } from './conditions.ts';
import type { ClientContext } from './context.ts';

/** How long one receive of the broker waits; then it is asked again, which costs a look. */
const WAIT_MS = 10 * 60_000;
/** Meanwhile, it is asked this often whether the peer may still receive. */
const CHECK_MS = 60_000;
const { untakenBytesForMessages, turnBytes } = BUDGETS.connection;
/** How often it is looked whether a peer that took little has taken more. */
const BACKLOG_PAUSE_MS = { first: 20, most: 1000 };
/** So long, more credit is waited for where the peer is about to give it bit by bit. */
const GATHER_MS = 10;
/** The sender's mode in which messages are settled as they go out. */
const SETTLED = 1;

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
  readonly #forgetShutdown: () => void;
  #isRunning = false;
  /** Ends the wait that is under way. */
  #wait = new AbortController();
  #sent = 0;

  constructor(context: ClientContext, options: DelivererOptions) {
    this.#context = context;
    this.#scheduler = context.parts.scheduler;
    this.#options = options;
    const isSettled = options.link.asked.senderSettleMode === SETTLED;
    this.#mode = isSettled ? 'receiveAndDelete' : 'peekLock';
    options.link.onFlow(() => this.#wake());
    this.#forgetShutdown = context.shutdown.onBegin(() => this.#wait.abort());
  }

  /** The link is open; the peer may have given credit before it heard of that. */
  start(): void {
    if (this.#mayDeliver) this.#wake();
  }

  /** Ends what is waiting, since the link has ended. */
  stop(): void {
    this.#forgetShutdown();
    this.#wait.abort();
  }

  get #mayDeliver(): boolean {
    const { link } = this.#options;
    return link.isOpen && link.credit > 0 && !this.#context.shutdown.hasBegun;
  }

  #wake(): void {
    // Who drains wants what there is now: the wait is over.
    if (this.#options.link.isDraining) this.#wait.abort();
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#scheduler.soon(() => this.#context.background(() => this.#run()));
  }

  async #run(): Promise<void> {
    const { link } = this.#options;
    try {
      while (this.#mayDeliver) {
        await this.#untilTaken();
        if (this.#mayDeliver) await this.#round();
      }
      link.drained();
    } catch (error) {
      this.#refuse(error);
    } finally {
      this.#isRunning = false;
    }
    // Credit may have come between the last look and the end.
    if (this.#mayDeliver) this.#wake();
  }

  async #round(): Promise<void> {
    const { link, node } = this.#options;
    // It works on more than it wants, so it will want more: what is claimed at once costs one write.
    if (link.credit < link.held && !link.isDraining) await pause(this.#scheduler, GATHER_MS);
    await this.#context.authorization.require(node.pathname, node.path, LISTEN);
    // Nobody would end a wait that begins after the end of the link.
    if (!this.#mayDeliver) return;
    const isDraining = link.isDraining;
    const messages = await this.#receive(isDraining ? 0 : WAIT_MS);
    if (!link.isOpen) {
      await this.#giveBack(messages);
      return;
    }
    await this.#sendAll(messages);
    // Only a look after the drain was asked for can say that there is nothing.
    if (isDraining && messages.length === 0) link.drained();
  }

  /** Sends messages in order. Parts that only AMQP has take long to write, so others have their turn. */
  async #sendAll(messages: readonly ReceivedMessage[]): Promise<void> {
    let bytes = 0;
    for (const [i, message] of messages.entries()) {
      if (bytes > turnBytes) {
        await this.#context.parts.workTurns.next();
        if (!this.#options.link.isOpen) return await this.#giveBack(messages.slice(i));
        bytes = 0;
      }
      this.#send(message);
      bytes += message.message.amqp?.byteLength ?? 0;
    }
  }

  /** Waits while the peer takes little of what it was sent. */
  async #untilTaken(): Promise<void> {
    let ms = BACKLOG_PAUSE_MS.first;
    while (this.#mayDeliver && this.#context.backlog() > untakenBytesForMessages) {
      await pause(this.#scheduler, ms);
      ms = Math.min(2 * ms, BACKLOG_PAUSE_MS.most);
    }
  }

  async #receive(waitMs: number): Promise<readonly ReceivedMessage[]> {
    const { link, node, session } = this.#options;
    const { background, parts } = this.#context;
    this.#wait = new AbortController();
    const check = this.#scheduler.every(CHECK_MS, () => background(() => this.#check()));
    try {
      return await parts.broker.receive(node.path, {
        mode: this.#mode,
        maxMessages: Math.min(link.credit, LIMITS.receiveMessages),
        waitMs,
        signal: this.#wait.signal,
        admit: () => this.#confirmRight(),
        ...(session === undefined ? {} : { session }),
      });
    } finally {
      check.cancel();
    }
  }

  async #confirmRight(): Promise<void> {
    const { path, pathname } = this.#options.node;
    await this.#context.authorization.confirm(pathname, path, LISTEN);
  }

  async #check(): Promise<void> {
    try {
      await this.#confirmRight();
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    const { link, node } = this.#options;
    link.detach(tell(this.#context.parts, error, node.path.name));
  }

  #send(message: ReceivedMessage): void {
    const { link } = this.#options;
    const payload = writeMessage(asHandedOut(message));
    if ('lockToken' in message) {
      const tag = swapGuid(guidBytes(message.lockToken));
      link.deliver({ tag, payload, settled: false });
      return;
    }
    const tag = Buffer.alloc(16);
    tag.writeUInt32BE(this.#sent++ >>> 0);
    link.deliver({ tag, payload, settled: true });
  }

  /** Messages that were locked for a link which has ended meanwhile. A session's are freed with it. */
  async #giveBack(messages: readonly ReceivedMessage[]): Promise<void> {
    if (this.#options.session !== undefined) return;
    const settlements = messages.flatMap((message) =>
      'lockToken' in message
        ? [{ lockToken: message.lockToken, action: { kind: 'abandon' as const } }]
        : [],
    );
    if (settlements.length > 0)
      await this.#context.parts.broker.settle(this.#options.node.path, settlements);
  }
}

/** A message that was scheduled is still called so when it is handed out, as the service has it. */
function asHandedOut(received: ReceivedMessage): ReceivedMessage {
  const wasScheduled = received.message.scheduledEnqueueAt === received.enqueuedAt;
  return wasScheduled && received.state === 'Active'
    ? { ...received, state: 'Scheduled' }
    : received;
}
