import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Intake } from './intake.ts';
import type { Transport } from './transport.ts';

const { untakenBytes, turnParts, turnPartBytes, backlogBytes } = BUDGETS.connection;

/** What an outbox needs of its connection. */
export interface OutboxOptions {
  readonly scheduler: Scheduler;
  readonly intake: Pick<Intake, 'pause' | 'resume'>;
  readonly limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  /** Called when the connection may hold no more output. */
  readonly onFull: () => void;
}

/**
 * The output of a connection. Writes all frames of a turn of the event loop at once, at the end of the turn;
 * `sendNow` writes them sooner, for a client that waits. While the peer does not read its output, its input is
 * not read either, until it reads again or is silent for so long that its connection ends.
 */
export class Outbox {
  readonly #transport: Transport;
  readonly #options: OutboxOptions;
  #waiting: Uint8Array[] = [];
  /** Bytes in `#waiting`. */
  #bytes = 0;
  /** Bytes in `#waiting` that are counted by the connection's limits. */
  #held = 0;
  #lastWriteAt: number;
  #isExempt = false;
  /** Whether a flush is scheduled for the end of this turn. */
  #isFlushDue = false;
  /** Writes and bytes of this turn, sent or not. */
  #turnParts = 0;
  #turnBytes = 0;
  /** Resumes senders with more parts to write, in order. */
  readonly #stalled = new Set<() => void>();

  constructor(transport: Transport, options: OutboxOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#lastWriteAt = options.scheduler.now();
  }

  /** The time of the last write to the transport, monotonic ms. */
  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** Bytes that the peer has not taken yet. */
  get backlog(): number {
    return this.#transport.backlog + this.#bytes;
  }

  /** Queues bytes for the end of this turn. Calls `onFull` instead if the connection may hold no more. */
  write(bytes: Uint8Array): void {
    const { limits, onFull, scheduler } = this.#options;
    const isHeld = limits.tryHold(bytes.byteLength);
    if (isHeld) this.#held += bytes.byteLength;
    else if (!this.#isExempt) {
      onFull();
      return;
    }
    if (!this.#isFlushDue) scheduler.soon(() => this.#endTurn());
    this.#isFlushDue = true;
    this.#waiting.push(bytes);
    this.#bytes += bytes.byteLength;
    this.#turnParts++;
    this.#turnBytes += bytes.byteLength;
  }

  /**
   * Whether one more part of a message may be written now. If not, `resume` is called once it may: in a
   * later turn, or when the peer has taken some of the output.
   */
  mayWrite(resume: () => void): boolean {
    if (this.#hasRoom) return true;
    this.#stalled.add(resume);
    return false;
  }

  /** Cancels the call of a `resume` that `mayWrite` was given. */
  forget(resume: () => void): void {
    this.#stalled.delete(resume);
  }

  /** Exempts the following writes, which close the connection, from its memory limit. */
  exemptFromLimit(): void {
    this.#isExempt = true;
  }

  /** Sends queued output and resumes senders with more parts. */
  flush(): void {
    this.sendNow();
    this.#resumeStalled();
  }

  /** Sends queued output before the end of the turn, which may be far away in a busy process. */
  sendNow(): void {
    if (this.#waiting.length === 0) return;
    this.#lastWriteAt = this.#options.scheduler.now();
    const bytes = Buffer.concat(this.#waiting);
    const held = this.#held;
    this.#empty();
    this.#transport.write(bytes, () => this.#written(held));
    if (this.#transport.backlog > untakenBytes) this.#options.intake.pause('backlog');
  }

  /** Drops queued output, since the peer is gone. */
  clear(): void {
    this.#empty();
    this.#stalled.clear();
  }

  #endTurn(): void {
    this.#isFlushDue = false;
    this.#turnParts = 0;
    this.#turnBytes = 0;
    this.flush();
  }

  get #hasRoom(): boolean {
    const isTurnOver = this.#turnParts >= turnParts || this.#turnBytes >= turnPartBytes;
    return !isTurnOver && this.backlog < backlogBytes;
  }

  #empty(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#held = 0;
  }

  #written(held: number): void {
    const { intake, limits } = this.#options;
    limits.release(held);
    if (this.#transport.backlog <= untakenBytes / 2) intake.resume('backlog');
    this.#resumeStalled();
  }

  /** Resumes senders in order. One that may not write again waits after the others. */
  #resumeStalled(): void {
    for (const resume of this.#stalled) {
      if (!this.#hasRoom) return;
      this.#stalled.delete(resume);
      resume();
    }
  }
}
