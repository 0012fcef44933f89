import type { Caller } from '../../client/call.ts';
import { RefusalError } from '../../client/client-errors.ts';
import type { ClientPath } from '../../client/entity-path.ts';
import { sendBatch } from '../../client/message-calls.ts';

const KEY_BYTES = 16;

/**
 * Sends messages so that trying again after an error stores none twice: an answer may be lost on its way although the
 * message was stored. Where the service takes no keys, as in the tier Basic, a second try may store a message twice.
 */
export class SendOnce {
  /** What was tried last without a success, and under which key. */
  #tried: { readonly what: string; readonly key: string } | undefined;
  #isWithoutKeys = false;

  /** Sends a message, given as JSON. Throws RefusalError, UnreachableError; then the same call may be made again. */
  async send(caller: Caller, path: ClientPath, text: string): Promise<void> {
    const what = JSON.stringify([path.entity, text]);
    if (this.#tried?.what !== what) this.#tried = { what, key: newKey() };
    const { key } = this.#tried;
    try {
      await sendBatch(caller, path, [text], this.#isWithoutKeys ? undefined : key);
    } catch (error) {
      // Nothing of a refused request was stored, and what is wrong with the message is refused again.
      if (this.#isWithoutKeys || !isRefused(error)) throw error;
      await sendBatch(caller, path, [text]);
      this.#isWithoutKeys = true;
    }
    this.#tried = undefined;
  }
}

/** Whether the service has refused a request for good, as it refuses keys where there are no transactions. */
function isRefused(error: unknown): boolean {
  return error instanceof RefusalError && error.status === 400 && !error.isRetryable;
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
