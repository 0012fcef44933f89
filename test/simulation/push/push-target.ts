import { pause } from '../../../shared/domain/scheduler.ts';
import type { Batch, Failure, Reply, Targets } from '../../../shared/push/ports.ts';
import type { Machine } from '../machines/machine.ts';
import type { Random } from '../machines/random.ts';
import type { Timeline } from '../machines/timeline.ts';

/** How a target behaves. */
export interface TargetMood {
  /** The chance that a call fails as a whole. */
  readonly fails: number;
  /** The chance that a call fails in part. */
  readonly failsInPart: number;
  /** The chance that a call is refused before it begins. */
  readonly throttles: number;
  /** The chance that a call takes longer than its time limit. */
  readonly hangs: number;
  readonly msMax: number;
}

/** Works at once, and never fails. */
export const CALM: TargetMood = { fails: 0, failsInPart: 0, throttles: 0, hangs: 0, msMax: 50 };

/** A target that all workers call. It runs on a machine of its own, so its calls go on when a worker ends. */
export class SimulatedTarget {
  mood: TargetMood = CALM;
  /** When each message was first done: by its id, in order. */
  readonly done = new Map<string, number>();
  readonly calls: { readonly sessionId: string | undefined; readonly ids: readonly string[] }[] =
    [];
  readonly violations: string[] = [];
  running = 0;
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #maxConcurrency: number;
  readonly #maxBatch: number;

  constructor(
    timeline: Timeline,
    random: Random,
    limits: { readonly maxConcurrency: number; readonly maxBatch: number },
  ) {
    this.#timeline = timeline;
    this.#random = random;
    this.#maxConcurrency = limits.maxConcurrency;
    this.#maxBatch = limits.maxBatch;
  }

  /** The target as a worker on a machine calls it. */
  of(machine: Machine): Targets {
    return {
      refusalOf: () => undefined,
      call: (batch) => this.#call(machine, batch),
    };
  }

  async #call(machine: Machine, batch: Batch): Promise<Reply> {
    const random = this.#random;
    const { mood } = this;
    if (batch.messages.length > this.#maxBatch) this.violations.push('The batch is too large.');
    if (random.chance(mood.throttles)) {
      await pause(machine, random.between(1, 20));
      const why = random.pick(['throttled', 'missing', 'forbidden'] as const);
      return { kind: 'unavailable', why, error: why };
    }
    this.running++;
    if (this.running > this.#maxConcurrency) this.violations.push(`${this.running} calls at once.`);
    const ids = batch.messages.map(({ message }) => message.messageId);
    this.calls.push({ sessionId: batch.sessionId, ids });
    const { timeoutMs } = batch.consumer;
    const hangs = random.chance(mood.hangs);
    const ms = hangs ? timeoutMs : random.between(1, Math.min(timeoutMs - 1, mood.msMax));
    const reply = hangs ? failed('It took too long.') : this.#replyTo(batch);
    this.#timeline.after(ms, () => {
      this.running--;
      if (reply.kind === 'answered') this.#note(batch, reply.failures);
    });
    return await new Promise((resolve) => {
      machine.deliver(this.#timeline.now + ms + random.between(0, 5), () => resolve(reply));
    });
  }

  #replyTo(batch: Batch): Reply {
    const random = this.#random;
    const poison = batch.messages.flatMap(({ message }, i) =>
      isPoison(message.messageId) ? [i] : [],
    );
    if (random.chance(this.mood.fails)) return failed('It threw.');
    const firstBad = random.chance(this.mood.failsInPart)
      ? random.below(batch.messages.length)
      : undefined;
    const bad = [...poison, ...(firstBad === undefined ? [] : [firstBad])];
    if (bad.length === 0) return { kind: 'answered', failures: [] };
    // Half of the time poison makes the whole call fail, as handlers do that know nothing of failures.
    if (poison.length > 0 && random.chance(0.5)) return failed('Poison.');
    const from = Math.min(...bad);
    // In a session a handler stops at the first failure, as the processors of batches do.
    const failing = batch.messages.filter((_, i) =>
      batch.sessionId === undefined ? bad.includes(i) : i >= from,
    );
    return {
      kind: 'answered',
      failures: failing.map(({ sequenceNumber }) => ({
        sequenceNumber,
        action: { kind: 'abandon' } as const,
      })),
    };
  }

  #note(batch: Batch, failures: readonly Failure[]): void {
    const failing = new Set(failures.map(({ sequenceNumber }) => sequenceNumber));
    for (const { message, sequenceNumber } of batch.messages) {
      if (failing.has(sequenceNumber) || this.done.has(message.messageId)) continue;
      this.done.set(message.messageId, this.#timeline.now);
    }
  }
}

function failed(error: string): Reply {
  return { kind: 'failed', error };
}

/** Whether a message makes every call fail. */
export function isPoison(messageId: string): boolean {
  return messageId.startsWith('poison');
}
