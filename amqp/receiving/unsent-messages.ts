import type { ReceivedMessage, Settlement, SettlementAction } from '../../shared/broker/broker.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { ClientContext } from '../service/context.ts';

/** Messages that are given back in one call. */
const MESSAGES_PER_CALL = 250;
/** Nobody tried to handle what was never sent. */
const UNTRIED: SettlementAction = { kind: 'abandon', isUncounted: true };
/** What cannot be written would come again for ever if its deliveries did not count. */
const FAILED: SettlementAction = { kind: 'abandon' };

/** Gives messages back that were locked for a link and never sent on it. */
export class UnsentMessages {
  readonly #context: Pick<ClientContext, 'dependencies' | 'background' | 'returnTurns'>;
  readonly #path: EntityPath;
  readonly #isOfSession: boolean;
  #dropped: Settlement[] = [];

  /** Messages of a session are freed with it. */
  constructor(
    context: Pick<ClientContext, 'dependencies' | 'background' | 'returnTurns'>,
    path: EntityPath,
    isOfSession: boolean,
  ) {
    this.#context = context;
    this.#path = path;
    this.#isOfSession = isOfSession;
  }

  /** Messages that nobody waits for any more: their link has ended. */
  dropAll(messages: readonly ReceivedMessage[]): void {
    for (const message of messages) this.drop(message);
  }

  drop(message: ReceivedMessage): void {
    this.#drop(message, UNTRIED);
  }

  /** A message that cannot be written. */
  dropUnwritable(message: ReceivedMessage): void {
    this.#drop(message, FAILED);
  }

  #drop(message: ReceivedMessage, action: SettlementAction): void {
    if (this.#isOfSession || !('lockToken' in message)) return;
    this.#dropped.push({ lockToken: message.lockToken, action });
    if (this.#dropped.length > 1) return;
    // Together with what else is dropped in this turn.
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
