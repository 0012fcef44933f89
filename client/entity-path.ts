import { parseEntityPath } from '../shared/domain/entities/entity-path.ts';

/** The path of a queue, topic or subscription, or of one of its dead-letter queues. */
export interface ClientPath {
  /** The whole path as it was written, without slashes around it: `orders/$deadletterqueue`. */
  readonly text: string;
  /** The path of the entity alone: `orders`. */
  readonly entity: string;
  readonly subQueue: SubQueue;
}

/** Which of an entity's queues a path names. */
export type SubQueue = 'main' | 'deadLetter' | 'transferDeadLetter';

/** A text is no path of an entity. Its message is a sentence that says what to write. */
export class PathError extends Error {
  override readonly name = 'PathError';
}

const SUB_QUEUE = /^(.+?)\/(\$transfer\/)?\$deadletterqueue$/i;
const SUB_QUEUE_PATHS = {
  main: '',
  deadLetter: '/$deadletterqueue',
  transferDeadLetter: '/$transfer/$deadletterqueue',
} as const;
/** As long as the path of a subscription can be. */
const LENGTH_MAX = 512;

/** URL parsers remove these segments, and what is before `..`: the address is that of another entity. */
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:\/|$)/;

/** Reads a path: `orders`, `events/subscriptions/billing`, `orders/$deadletterqueue`. Throws PathError. */
export function readPath(text: string): ClientPath {
  if (text.split('/').includes('')) {
    throw new PathError(
      `'${text}' is no path of an entity. Write it like orders, events/subscriptions/billing or 'orders/$deadletterqueue', and put a path with $ in single quotes, or the shell removes the word after it.`,
    );
  }
  if (text.length > LENGTH_MAX) {
    throw new PathError(`The path of an entity has up to ${LENGTH_MAX} characters.`);
  }
  const [, entity, transfer] = SUB_QUEUE.exec(text) ?? [];
  if (entity === undefined) {
    if (text.includes('$')) {
      throw new PathError(
        `'${text}' names no queue that dynabus knows: only $deadletterqueue and $transfer/$deadletterqueue follow the path of an entity.`,
      );
    }
    requireEntityPath(text);
    return { text, entity: text, subQueue: 'main' };
  }
  requireEntityPath(entity, text);
  return { text, entity, subQueue: transfer === undefined ? 'deadLetter' : 'transferDeadLetter' };
}

/**
 * Throws PathError for a path that no entity can have, as the service refuses it, and for one whose address would be
 * that of another entity. `text` = what was written.
 */
export function requireEntityPath(entity: string, text = entity): void {
  if (hasDotSegment(entity)) {
    throw new PathError(
      `'${text}' is no path of an entity: the segments . and .. name no entity, and are removed from an address.`,
    );
  }
  try {
    parseEntityPath(entity);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PathError(`'${text}' is no path of an entity. ${reason}`, { cause });
  }
}

/** Whether the address of a path would be that of another one, since URL parsers remove some of its segments. */
export function hasDotSegment(path: string): boolean {
  return DOT_SEGMENT.test(path);
}

/** The path of a part, such as of a rule, whose name is one segment. Throws PathError for any other name. */
export function partPathOf(parent: string, name: string): string {
  if (name === '' || name.includes('/') || hasDotSegment(name)) {
    throw new PathError(
      `'${name}' is no name here: it must not be empty, . or .., or have a slash.`,
    );
  }
  return `${parent}/${name}`;
}

/** The path of a sub-queue of an entity. */
export function subQueueOf(entity: string, subQueue: SubQueue): ClientPath {
  return { text: entity + SUB_QUEUE_PATHS[subQueue], entity, subQueue };
}

/** The topic and the name of a subscription; undefined for the path of another entity. */
export function subscriptionOf(
  entity: string,
): { readonly topic: string; readonly name: string } | undefined {
  const [, topic, name] = /^(.+)\/subscriptions\/([^/]+)$/i.exec(entity) ?? [];
  return topic === undefined || name === undefined ? undefined : { topic, name };
}

/** A path as part of a URL. */
export function encodePath(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(segment).replaceAll('%24', '$'))
    .join('/');
}
