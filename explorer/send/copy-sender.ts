import type { Caller } from '../../client/call.ts';
import { type ClientPath, subQueueOf } from '../../client/entity-path.ts';
import type { ClientMessage } from '../../client/message.ts';
import { operate, peek } from '../../client/message-calls.ts';
import { readDestination, requireNewId } from './destination.ts';
import { type Draft, messageText } from './draft.ts';
import { SendOnce } from './send-once.ts';

/**
 * Sends a changed copy of one message. The original of a dead letter is deleted after a queue has stored the copy, so
 * that it is never lost. A topic may have no subscription that takes the copy, so the original stays.
 */
export class CopySender {
  readonly #caller: Caller;
  readonly #path: ClientPath;
  readonly #message: ClientMessage;
  readonly #once = new SendOnce();
  #isSent = false;

  /** `path` = the queue in which the message is. */
  constructor(caller: Caller, path: ClientPath, message: ClientMessage) {
    this.#caller = caller;
    this.#path = path;
    this.#message = message;
  }

  /** Whether the copy is stored, though the original may be there, too. */
  get isSent(): boolean {
    return this.#isSent;
  }

  /**
   * Sends the copy, and resolves with a sentence that says what was done. After an error, the next call does what is
   * left. Throws DraftError, DuplicateError, RefusalError, UnreachableError; Error if the original cannot be deleted,
   * or is gone before the copy is sent.
   */
  async send(to: string, draft: Draft): Promise<string> {
    const isDead = this.#path.subQueue !== 'main';
    const name = `message ${this.#message.sequenceNumber}`;
    const destination = await readDestination(this.#caller, to);
    if (!this.#isSent) {
      requireNewId(to, destination, this.#message, draft.system['MessageId']);
      if (isDead) await this.#requireThere(name);
      await this.#once.send(this.#caller, subQueueOf(to, 'main'), messageText(draft));
      this.#isSent = true;
    }
    if (!isDead || destination.kind === 'topic') return `Sent a copy of ${name} to ${to}.`;
    const sequenceNumbers = [this.#message.sequenceNumber];
    const deleted = await operate(this.#caller, this.#path, 'delete', { sequenceNumbers });
    if (deleted.size > 0) return `Sent a copy of ${name} to ${to}, and deleted the dead letter.`;
    throw new Error(`The copy is sent, but ${name} is locked or gone, so it was not deleted here.`);
  }

  async #requireThere(name: string): Promise<void> {
    const from = this.#message.sequenceNumber;
    const [found] = await peek(this.#caller, this.#path, { from, maxMessages: 1 });
    if (found?.sequenceNumber === from) return;
    throw new Error(`Nothing was sent: ${name} is gone. Somebody has resubmitted or deleted it.`);
  }
}
