import {
  DEAD_LETTERS,
  type EntitySpec,
  isDeadLetterPath,
  type MessageSpec,
} from '../scenario/scenario.ts';

/** The place of a queue's deferred messages. */
export function deferredPlace(path: string): string {
  return `${path}#deferred`;
}

/** The entities that messages reach by subscriptions and forwarding. */
export class Routes {
  readonly #entities: ReadonlyMap<string, EntitySpec>;
  readonly #all: readonly EntitySpec[];

  constructor(entities: readonly EntitySpec[]) {
    this.#all = entities;
    this.#entities = new Map(entities.map((entity) => [entity.path, entity]));
  }

  entity(path: string): EntitySpec | undefined {
    return this.#entities.get(path);
  }

  /** The paths where a message is stored once it is sent to an entity. */
  ends(to: string, message: MessageSpec): readonly string[] {
    const entity = this.#entities.get(to);
    if (entity?.kind !== 'topic') return [this.#follow(to)];
    return this.#all.flatMap((one) => {
      if (one.kind !== 'subscription' || one.topic !== to) return [];
      return one.filter === 'all' || one.filter === message.colour ? [this.#follow(one.path)] : [];
    });
  }

  /** The path where a message of an entity is stored once it is dead-lettered. */
  deadLetters(path: string): string {
    const entity = this.#entities.get(path);
    const to = entity?.kind === 'topic' ? undefined : entity?.forwardDeadLettersTo;
    return to === undefined ? path + DEAD_LETTERS : this.#follow(to);
  }

  /** The main queues a message may reach, each by forwarding of the previous one's dead letters. */
  queues(end: string): readonly string[] {
    const next = this.deadLetters(end);
    return isDeadLetterPath(next) ? [end] : [end, ...this.queues(next)];
  }

  /** Whether a message with a final queue is there, or may reach another queue from there. */
  passes(end: string, queue: string): boolean {
    return this.queues(end).includes(queue);
  }

  /** The shortest time to live on a message's route, ms; infinite where there is none. */
  timeToLiveMs(to: string, end: string, { timeToLiveMs }: MessageSpec): number {
    const defaults = [to, ...this.queues(end)].map((path) => {
      const entity = this.#entities.get(path);
      return entity?.kind === 'topic' ? undefined : entity?.defaultTimeToLiveMs;
    });
    return Math.min(...[timeToLiveMs, ...defaults].map((ms) => ms ?? Number.POSITIVE_INFINITY));
  }

  #follow(path: string): string {
    const entity = this.#entities.get(path);
    const to = entity?.kind === 'topic' ? undefined : entity?.forwardTo;
    return to === undefined ? path : this.#follow(to);
  }

  /** The duplicate detection window of an entity, ms; undefined without duplicate detection. */
  detectionMs(to: string): number | undefined {
    const entity = this.#entities.get(to);
    return entity?.kind === 'subscription' ? undefined : entity?.detectionMs;
  }

  /** The key by which an entity detects duplicates of a message. */
  idOf(to: string, { tag, messageId = tag, sessionId, partitionKey }: MessageSpec): string {
    const entity = this.#entities.get(to);
    const isPartitioned =
      entity !== undefined && entity.kind !== 'subscription' && entity.partitioned;
    const key = isPartitioned ? (sessionId ?? partitionKey) : undefined;
    return JSON.stringify([to, messageId, key]);
  }
}
