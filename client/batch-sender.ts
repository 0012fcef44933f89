import type { Caller } from './call.ts';
import { RefusalError } from './client-errors.ts';
import type { ClientPath } from './entity-path.ts';
import { sendBatch } from './message-calls.ts';

/** A message to send. */
export interface OutgoingText {
  /** Its JSON, as in a batch. */
  readonly text: string;
  /** The messages of one key go into one partition, in order. */
  readonly key: string | undefined;
  /** The instant at which it is scheduled, as it is written. */
  readonly scheduled: string | undefined;
  /** Where it comes from, for a refusal: `line 7`. */
  readonly source: string;
}

/** The limits of a batch; those of the service are higher, so that few batches are refused. */
const BATCH_MESSAGES_MAX = 250;
const BATCH_CHARACTERS_MAX = 200_000;
const BATCH_INSTANTS_MAX = 40;
/** A refusal of these codes may be about the batch, not about a message. */
const ABOUT_BATCH = new Set(['MessageSizeExceeded', 'InvalidOperation']);

/** A message was refused; the messages before it may be sent. `source` says which one. */
export class RefusedMessageError extends Error {
  override readonly name = 'RefusedMessageError';
  readonly source: string;
  readonly refusal: RefusalError;

  constructor(source: string, refusal: RefusalError) {
    super(refusal.message, { cause: refusal });
    this.source = source;
    this.refusal = refusal;
  }
}

/**
 * Sends messages in batches below the limits of the service. If a batch is refused as such, its messages are grouped by
 * key, as a partitioned entity wants them, and then halved, so that only a message that is refused alone ends the work.
 */
export class BatchSender {
  readonly #client: Caller;
  readonly #path: ClientPath;
  #waiting: OutgoingText[] = [];
  #characters = 0;
  readonly #instants = new Set<string>();
  #isByKey = false;
  #sent = 0;

  constructor(client: Caller, path: ClientPath) {
    this.#client = client;
    this.#path = path;
  }

  /** How many messages the service has stored. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * Adds a message, and first sends the batch that is complete without it. Throws RefusedMessageError for a message,
   * RefusalError for the entity or the token, UnreachableError.
   */
  async add(message: OutgoingText): Promise<void> {
    const isFull =
      this.#waiting.length >= BATCH_MESSAGES_MAX ||
      this.#characters + message.text.length > BATCH_CHARACTERS_MAX ||
      this.#instants.size >= BATCH_INSTANTS_MAX;
    if (isFull) await this.flush();
    this.#waiting.push(message);
    this.#characters += message.text.length;
    if (message.scheduled !== undefined) this.#instants.add(message.scheduled);
  }

  /** Sends what waits. Throws as `add` does. */
  async flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    this.#instants.clear();
    for (const group of this.#isByKey ? byKey(batch) : [batch]) await this.#send(group);
  }

  async #send(batch: readonly OutgoingText[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      await sendBatch(
        this.#client,
        this.#path,
        batch.map(({ text }) => text),
      );
      this.#sent += batch.length;
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      if (batch.length === 1 || !ABOUT_BATCH.has(error.code)) {
        const source = sourceOf(batch, error);
        throw source === undefined ? error : new RefusedMessageError(source, error);
      }
      const groups = byKey(batch);
      this.#isByKey ||= error.code === 'InvalidOperation' && groups.length > 1;
      const half = Math.ceil(batch.length / 2);
      const parts =
        this.#isByKey && groups.length > 1 ? groups : [batch.slice(0, half), batch.slice(half)];
      for (const part of parts) await this.#send(part);
    }
  }
}

/** Groups messages by key; each keeps the order of its messages. Messages without a key are one group. */
function byKey(batch: readonly OutgoingText[]): readonly (readonly OutgoingText[])[] {
  const groups = new Map<string | undefined, OutgoingText[]>();
  for (const message of batch) {
    const group = groups.get(message.key);
    if (group === undefined) groups.set(message.key, [message]);
    else group.push(message);
  }
  return [...groups.values()];
}

const NUMBER_IN_BATCH = /Message (\d+) of the batch/;

/** The source of the message that a refusal is about; undefined if it is about the entity or the token. */
function sourceOf(
  batch: readonly OutgoingText[],
  { code, message }: RefusalError,
): string | undefined {
  const [, index] = NUMBER_IN_BATCH.exec(message) ?? [];
  if (index !== undefined) return batch[Number(index)]?.source;
  return ABOUT_BATCH.has(code) ? batch[0]?.source : undefined;
}
