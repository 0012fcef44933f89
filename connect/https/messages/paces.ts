import { BoundedMap } from '../../../shared/domain/bounded-map.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { queueKey } from '../format/paths.ts';
import { PollPace } from './poll-pace.ts';

/** The queues and sessions whose pace is remembered. */
const PACES_MAX = 1000;

/**
 * The paces of queues and of sessions. Each session has its own, since a request looks into one session: what happens
 * in one must not make the receivers of all others ask. Who waits for the next session has the pace of the queue.
 */
export class Paces {
  readonly #scheduler: Scheduler;
  readonly #paces = new BoundedMap<string, PollPace>(PACES_MAX);
  /** By topic: its subscriptions that have receivers here. */
  readonly #subscriptions = new BoundedMap<string, Set<string>>(PACES_MAX);

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** The pace at which the receivers of a queue, or of a session in it, look for messages. */
  of(path: EntityPath, sessionId?: string): PollPace {
    const key = keyOf(queueKey(path), sessionId);
    const known = this.#paces.get(key);
    if (known !== undefined) return known;
    const pace = new PollPace(this.#scheduler);
    this.#paces.set(key, pace);
    const { subscription, subQueue } = path;
    if (subscription !== undefined && subQueue === 'main') {
      this.#addSubscription(subscription.topic.toLowerCase(), path.key);
    }
    return pace;
  }

  /** Messages were sent to a queue or topic: those who wait for them look now. */
  sent(path: EntityPath, messages: readonly { readonly sessionId?: string | undefined }[]): void {
    const sessions = new Set([undefined, ...messages.map(({ sessionId }) => sessionId)]);
    for (const queue of [path.key, ...(this.#subscriptions.get(path.key) ?? [])]) {
      // Sessions without receivers here need no pace.
      for (const sessionId of sessions) this.#paces.get(keyOf(queue, sessionId))?.active();
    }
  }

  #addSubscription(topic: string, subscription: string): void {
    const known = this.#subscriptions.get(topic) ?? new Set();
    this.#subscriptions.set(topic, known.add(subscription));
  }
}

function keyOf(queue: string, sessionId: string | undefined): string {
  return `${queue}\n${sessionId ?? ''}`;
}
