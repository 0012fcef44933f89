import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Intake } from './intake.ts';
import type { Transport } from './transport.ts';

const { untakenBytes, turnParts, turnPartBytes, backlogBytes } = BUDGETS.connection;

/** What an outbox works with. */
export interface OutboxOptions {
  readonly scheduler: Scheduler;
  readonly intake: Pick<Intake, 'pause' | 'resume'>;
  readonly limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  /** Called when the connection may hold no more of what its peer does not take. */
  readonly onFull: () => void;
}

/**
 * What goes out on a connection: the work of one turn leaves in one write, or sooner in a write of its own
 * where somebody waits for it (`sendNow`). A peer that asks and never
 * reads the answers is not listened to until it does, or is gone for having said nothing for too long.
 */
export class Outbox {
  readonly #transport: Transport;
  readonly #options: OutboxOptions;
  #waiting: Uint8Array[] = [];
  /** Bytes of those. */
  #bytes = 0;
  /** Bytes of those that the connection holds. */
  #held = 0;
  #saidAt: number;
  #isClosing = false;
  /** Whether a flush is to come at the end of this turn. */
  #isFlushDue = false;
  /** What was written in this turn, whether it has left or not. */
  #turnParts = 0;
  #turnBytes = 0;
  /** Who has more parts of messages to send, in the order in which they go on. */
  readonly #stalled = new Set<() => void>();

  constructor(transport: Transport, options: OutboxOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#saidAt = options.scheduler.now();
  }

  /** When something was written last, monotonic ms. */
  get saidAt(): number {
    return this.#saidAt;
  }

  /** Bytes that the peer has not taken yet. */
  get backlog(): number {
    return this.#transport.backlog + this.#bytes;
  }

  write(bytes: Uint8Array): void {
    const { limits, onFull, scheduler } = this.#options;
    const isHeld = limits.tryHold(bytes.byteLength);
    if (isHeld) this.#held += bytes.byteLength;
    else if (!this.#isClosing) {
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
   * Whether one more part of a message may be written now. If not, `goOn` is called once it may: in a
   * later turn, or when the peer has taken some of what was written.
   */
  mayGoOn(goOn: () => void): boolean {
    if (this.#hasRoom) return true;
    this.#stalled.add(goOn);
    return false;
  }

  /** Calls `goOn` no more. */
  forget(goOn: () => void): void {
    this.#stalled.delete(goOn);
  }

  /** Only the end is to be told: that is written, however much the connection holds. */
  closing(): void {
    this.#isClosing = true;
  }

  /** Writes what is there, and lets those go on who have more parts to send. */
  flush(): void {
    this.sendNow();
    this.#goOn();
  }

  /** Writes what is there without waiting for the end of the turn: in a busy process that may be long. */
  sendNow(): void {
    if (this.#waiting.length === 0) return;
    this.#saidAt = this.#options.scheduler.now();
    const bytes = Buffer.concat(this.#waiting);
    const held = this.#held;
    this.#empty();
    this.#transport.write(bytes, () => this.#written(held));
    if (this.#transport.backlog > untakenBytes) this.#options.intake.pause('backlog');
  }

  /** Drops what was not written: the peer is gone. */
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
    this.#goOn();
  }

  /** Whoever finds no room again waits behind the others. */
  #goOn(): void {
    for (const goOn of this.#stalled) {
      if (!this.#hasRoom) return;
      this.#stalled.delete(goOn);
      goOn();
    }
  }
}
