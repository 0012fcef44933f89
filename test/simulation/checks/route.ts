import {
  DEAD_LETTERS,
  type EntitySpec,
  isDeadLetterPath,
  type MessageSpec,
} from '../scenario/scenario.ts';

/** Where deferred messages of a queue lie. */
export function deferredPlace(path: string): string {
  return `${path}#deferred`;
}

/** Where messages end up that nobody touches. */
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

  /** The paths at which a message lies once it is sent to an entity. */
  ends(to: string, message: MessageSpec): readonly string[] {
    const entity = this.#entities.get(to);
    if (entity?.kind !== 'topic') return [this.#follow(to)];
    return this.#all.flatMap((one) => {
      if (one.kind !== 'subscription' || one.topic !== to) return [];
      return one.filter === 'all' || one.filter === message.colour ? [this.#follow(one.path)] : [];
    });
  }

  /** Where a message of an entity lies once it is dead-lettered. */
  deadLetters(path: string): string {
    const entity = this.#entities.get(path);
    const to = entity?.kind === 'topic' ? undefined : entity?.forwardDeadLettersTo;
    return to === undefined ? path + DEAD_LETTERS : this.#follow(to);
  }

  /** The main queues in which a message may come to lie, as a dead letter of the one before. */
  queues(end: string): readonly string[] {
    const next = this.deadLetters(end);
    return isDeadLetterPath(next) ? [end] : [end, ...this.queues(next)];
  }

  /** Whether a message that lies in a queue may come to another one, or is there. */
  passes(end: string, queue: string): boolean {
    return this.queues(end).includes(queue);
  }

  /** The shortest time to live that a message meets on its way; infinite where there is none. */
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

  /** How long an entity knows messages that are sent to it again, ms; undefined where it does not. */
  detectionMs(to: string): number | undefined {
    const entity = this.#entities.get(to);
    return entity?.kind === 'subscription' ? undefined : entity?.detectionMs;
  }

  /** What a message is known by in an entity that detects duplicates. */
  idOf(to: string, { tag, messageId = tag, sessionId, partitionKey }: MessageSpec): string {
    const entity = this.#entities.get(to);
    const isPartitioned =
      entity !== undefined && entity.kind !== 'subscription' && entity.partitioned;
    const key = isPartitioned ? (sessionId ?? partitionKey) : undefined;
    return JSON.stringify([to, messageId, key]);
  }
}
