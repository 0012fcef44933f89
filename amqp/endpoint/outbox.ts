import { BUDGETS } from '../../shared/domain/budgets.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Transport } from './handlers.ts';
import type { Intake } from './intake.ts';

const { untakenBytes } = BUDGETS.connection;

/** What an outbox works with. */
export interface OutboxOptions {
  readonly scheduler: Scheduler;
  readonly intake: Pick<Intake, 'pause' | 'resume'>;
  readonly limits: Pick<ConnectionLimits, 'tryHold' | 'release'>;
  /** Called when the connection may hold no more of what its peer does not take. */
  readonly onFull: () => void;
}

/**
 * What goes out on a connection: the work of one turn leaves in one write. A peer that asks and never
 * reads the answers is not listened to until it does, or is gone for having said nothing for too long.
 */
export class Outbox {
  readonly #transport: Transport;
  readonly #options: OutboxOptions;
  #waiting: Uint8Array[] = [];
  /** Bytes of those that the connection holds. */
  #held = 0;
  #saidAt: number;
  #isClosing = false;

  constructor(transport: Transport, options: OutboxOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#saidAt = options.scheduler.now();
  }

  /** When something was written last, monotonic ms. */
  get saidAt(): number {
    return this.#saidAt;
  }

  write(bytes: Uint8Array): void {
    const { limits, onFull, scheduler } = this.#options;
    const isHeld = limits.tryHold(bytes.byteLength);
    if (isHeld) this.#held += bytes.byteLength;
    else if (!this.#isClosing) {
      onFull();
      return;
    }
    if (this.#waiting.length === 0) scheduler.soon(() => this.flush());
    this.#waiting.push(bytes);
  }

  /** Only the end is to be told: that is written, however much the connection holds. */
  closing(): void {
    this.#isClosing = true;
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    this.#saidAt = this.#options.scheduler.now();
    const bytes = Buffer.concat(this.#waiting);
    const held = this.#held;
    this.#waiting = [];
    this.#held = 0;
    this.#transport.write(bytes, () => this.#written(held));
    if (this.#transport.backlog > untakenBytes) this.#options.intake.pause('backlog');
  }

  /** Drops what was not written: the peer is gone. */
  clear(): void {
    this.#waiting = [];
  }

  #written(held: number): void {
    const { intake, limits } = this.#options;
    limits.release(held);
    if (this.#transport.backlog <= untakenBytes / 2) intake.resume('backlog');
  }
}
