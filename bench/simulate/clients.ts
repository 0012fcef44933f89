import type { Broker } from '../../shared/broker/broker.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import type { OutgoingMessage } from '../../shared/domain/messages/message.ts';
import type { Random } from '../../test/simulation/machines/random.ts';
import type { Timeline } from '../../test/simulation/machines/timeline.ts';
import type { Deployment, FunctionName } from './deployment.ts';
import { type CallResult, RECEIVE_WAIT_MS } from './instance.ts';
import type { Measures } from './measures.ts';

/** Clients repeat a call that was refused for now after up to 100 ms, then after up to twice as long each time. */
const PAUSE_MS = { first: 100, most: 3200 } as const;
/** The tries of a sender's call before it fails; a receiver's call is repeated without limit. */
const SEND_TRIES_MAX = 6;
const SECOND = 1000;

/** What clients need. */
export interface ClientOptions {
  readonly deployment: Deployment;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly measures: Measures;
  readonly path: string;
  /** Bodies to send, round robin. */
  readonly bodies: readonly Uint8Array[];
}

/** Senders and receivers of one queue, over HTTP. */
export class Clients {
  readonly #parts: ClientOptions;
  readonly #path: ReturnType<typeof parseEntityPath>;
  /** When each message that has not been received was passed to its sender's client. */
  readonly #sentAt = new Map<string, number>();
  #last = 0;
  /** The first unexpected error, which makes the run invalid. */
  failure: unknown;

  constructor(parts: ClientOptions) {
    this.#parts = parts;
    this.#path = parseEntityPath(parts.path);
  }

  /**
   * Sends at a fixed rate regardless of answers (open loop): `perSecond` messages in calls of `batch`, at random
   * instants.
   */
  send(perSecond: number, batch: number): void {
    const { timeline, random } = this.#parts;
    const meanMs = (SECOND * batch) / perSecond;
    let dueAt = timeline.now;
    const next = () => {
      dueAt -= meanMs * Math.log(1 - random.fraction());
      timeline.at(dueAt, () => {
        this.#run(this.#sendOne(batch));
        next();
      });
    };
    next();
  }

  /** Starts receivers within a second. Each one receives up to `batch` messages, completes them, and repeats. */
  receive(receivers: number, batch: number): void {
    const { timeline, random } = this.#parts;
    for (let i = 0; i < receivers; i++) {
      timeline.after(random.below(SECOND), () => this.#run(this.#receiveOn(batch)));
    }
  }

  async #sendOne(batch: number): Promise<void> {
    const { timeline, bodies, measures } = this.#parts;
    measures.offered += batch;
    const messages = Array.from({ length: batch }, (): OutgoingMessage => {
      const messageId = String(++this.#last);
      this.#sentAt.set(messageId, timeline.now);
      const body = bodies[this.#last % bodies.length] ?? new Uint8Array();
      return { body, messageId, properties: {} };
    });
    await this.#retry('send', batch, SEND_TRIES_MAX, (broker) => broker.send(this.#path, messages));
  }

  async #receiveOn(batch: number): Promise<never> {
    const { measures, timeline } = this.#parts;
    const options = { mode: 'peekLock', maxMessages: batch, waitMs: RECEIVE_WAIT_MS } as const;
    for (;;) {
      const messages =
        (await this.#retry('receive', batch, Number.POSITIVE_INFINITY, (broker) =>
          broker.receive(this.#path, options),
        )) ?? [];
      if (messages.length === 0) continue;
      for (const { message } of messages) {
        const sentAt = this.#sentAt.get(message.messageId);
        if (sentAt === undefined) continue;
        this.#sentAt.delete(message.messageId);
        measures.received++;
        measures.latencies.push(timeline.now - sentAt);
      }
      await this.#complete(
        messages.map((message) => ('lockToken' in message ? message.lockToken : '')),
      );
    }
  }

  /** Completes messages, and repeats completions that were refused for now. */
  async #complete(lockTokens: readonly string[]): Promise<void> {
    const { measures } = this.#parts;
    for (let left = lockTokens; left.length > 0; ) {
      const settlements = left.map((lockToken) => ({
        lockToken,
        action: { kind: 'complete' } as const,
      }));
      const outcomes = await this.#retry(
        'settle',
        left.length,
        Number.POSITIVE_INFINITY,
        (broker) => broker.settle(this.#path, settlements),
      );
      measures.delivered += outcomes?.filter(({ refusal }) => refusal === undefined).length ?? 0;
      left = (outcomes ?? [])
        .filter(({ refusal }) => refusal?.retryable === true)
        .map(({ lockToken }) => lockToken);
    }
  }

  /** Repeats a call until it is answered. Returns undefined if all tries were refused. */
  async #retry<Value>(
    name: FunctionName,
    messages: number,
    triesMax: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<Value | undefined> {
    const { deployment, timeline, random, measures } = this.#parts;
    let pauseMs: number = PAUSE_MS.first;
    for (let tries = 1; ; tries++) {
      const result: CallResult<Value> = await deployment.ask(name, messages, work);
      if ('value' in result) return result.value;
      if (tries >= triesMax) break;
      await timeline.pause(random.below(pauseMs));
      pauseMs = Math.min(PAUSE_MS.most, 2 * pauseMs);
    }
    measures.failedCalls++;
    return undefined;
  }

  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.failure ??= error;
    });
  }
}
