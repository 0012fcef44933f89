import type { ReceivedMessage, Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { ClientContext } from '../service/context.ts';

/** The most messages that one call of the broker returns to their queue. */
const MESSAGES_PER_CALL = 250;
/** For a message that was never sent: it does not count as a delivery. */
const UNTRIED: SettlementAction = { kind: 'abandon', isUncounted: true };
/** For a message that cannot be encoded: it counts as a delivery, or it would be received again forever. */
const FAILED: SettlementAction = { kind: 'abandon' };

/** Returns messages to their queue that were locked for a link and never sent on it. */
export class UnsentMessages {
  readonly #context: Pick<ClientContext, 'dependencies' | 'background' | 'returnTurns'>;
  readonly #path: EntityPath;
  readonly #isOfSession: boolean;
  #dropped: Settlement[] = [];

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
  dropAll(messages: readonly ReceivedMessage[]): void {
    for (const message of messages) this.drop(message);
  }

  /** Returns a message whose link has ended. */
  drop(message: ReceivedMessage): void {
    this.#drop(message, UNTRIED);
  }

  /** Returns a message that cannot be encoded. */
  dropUnwritable(message: ReceivedMessage): void {
    this.#drop(message, FAILED);
  }

  #drop(message: ReceivedMessage, action: SettlementAction): void {
    if (this.#isOfSession || !('lockToken' in message)) return;
    this.#dropped.push({ lockToken: message.lockToken, action });
    if (this.#dropped.length > 1) return;
    // Deferred, so that all messages dropped in this turn share a call.
    const { dependencies, background } = this.#context;
    dependencies.scheduler.soon(() => background(() => this.#returnDropped()));
  }

  async #returnDropped(): Promise<void> {
    const { dependencies, returnTurns } = this.#context;
    const dropped = this.#dropped;
    this.#dropped = [];
    for (let next = 0; next < dropped.length; next += MESSAGES_PER_CALL) {
      await returnTurns.next();
      await dependencies.broker.settle(this.#path, dropped.slice(next, next + MESSAGES_PER_CALL));
    }
  }
}
