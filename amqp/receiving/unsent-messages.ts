import type { ReceivedMessage, Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { ClientContext } from '../service/context.ts';

/** The most messages that one call of the broker returns to their queue. */
const MESSAGES_PER_CALL = 250;
/** For a message that was never sent: it does not count as a delivery. */
const UNTRIED: SettlementAction = { kind: 'abandon', isUncounted: true };
/** For a message that cannot be encoded: it counts as a delivery, or it would be received again forever. */
const FAILED: SettlementAction = { kind: 'abandon' };

/** Returns messages to their queue that were locked for a link and never sent on it (semantics #17). */
export class UnsentMessages {
  readonly #context: Pick<ClientContext, 'dependencies' | 'background' | 'returnTurns'>;
  readonly #path: EntityPath;
  readonly #isOfSession: boolean;
  #queued: Settlement[] = [];

  /** `isOfSession` = nothing is returned here: the release of the session frees its messages. */
  constructor(
    context: Pick<ClientContext, 'dependencies' | 'background' | 'returnTurns'>,
    path: EntityPath,
    isOfSession: boolean,
  ) {
    this.#context = context;
    this.#path = path;
    this.#isOfSession = isOfSession;
  }

  /** Returns messages whose link has ended. */
  putBackAll(messages: readonly ReceivedMessage[]): void {
    for (const message of messages) this.putBack(message);
  }

  /** Returns a message whose link has ended. */
  putBack(message: ReceivedMessage): void {
    this.#queue(message, UNTRIED);
  }

  /** Returns a message that cannot be encoded. */
  putBackUnwritable(message: ReceivedMessage): void {
    this.#queue(message, FAILED);
  }

  #queue(message: ReceivedMessage, action: SettlementAction): void {
    if (this.#isOfSession || !('lockToken' in message)) return;
    this.#queued.push({ lockToken: message.lockToken, action });
    if (this.#queued.length > 1) return;
    // Deferred, so that all messages of this turn share a call.
    const { dependencies, background } = this.#context;
    dependencies.scheduler.soon(() => background(() => this.#putBackQueued()));
  }

  async #putBackQueued(): Promise<void> {
    const { dependencies, returnTurns } = this.#context;
    const queued = this.#queued;
    this.#queued = [];
    for (let next = 0; next < queued.length; next += MESSAGES_PER_CALL) {
      await returnTurns.next();
      await dependencies.broker.settle(this.#path, queued.slice(next, next + MESSAGES_PER_CALL));
    }
  }
}
