import { argumentError, type BrokerError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';

/** The queues within each queue and subscription (semantics #C1). */
export const SUB_QUEUES = ['main', 'deadLetter', 'transferDeadLetter'] as const;

/** The queue within an entity that a path addresses. */
export type SubQueue = (typeof SUB_QUEUES)[number];

/** A parsed path of an entity or of one of its sub-queues. */
export interface EntityPath {
  /**
   * The entity's key: `orders`, `a/b/c` or `topic/subscriptions/name`, in lower case, since case is ignored.
   */
  readonly key: string;
  /** The entity's path in the client's spelling. */
  readonly name: string;
  readonly subQueue: SubQueue;
  /** Set if the path addresses a subscription. */
  readonly subscription?: { readonly topic: string; readonly name: string };
}

/** The paths of the two dead-letter queues, in any case (semantics #33, #C14, #34, D5). */
const DEAD_LETTER = /\/\$deadletterqueue$/i;
const TRANSFER_DEAD_LETTER = /\/\$transfer\/\$deadletterqueue$/i;
const SUBSCRIPTION = /^(.+)\/subscriptions\/([^/]+)$/i;
/** Letters, digits, `.`, `-`, `_`, `/`. It begins with a letter, digit or `_`, ends with one or `-` (semantics N4). */
const QUEUE_OR_TOPIC_NAME = /^[a-z0-9_](?:[a-z0-9._/-]*[a-z0-9_-])?$/i;
/** Begins and ends with a letter, digit or `_` (semantics N5). */
const CHILD_NAME = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$/i;

/** Parses the percent-decoded entity path of a URL. Throws ArgumentError for an invalid name. */
export function parseEntityPath(path: string): EntityPath {
  const { name, subQueue } = splitSubQueue(trimSlashes(path));
  const match = SUBSCRIPTION.exec(name);
  const topic = match?.[1];
  const child = match?.[2];
  if (topic !== undefined && child !== undefined) {
    requireEntityName(topic);
    requireChildName(child);
    return {
      key: `${topic}/subscriptions/${child}`.toLowerCase(),
      name: `${topic}/Subscriptions/${child}`,
      subQueue,
      subscription: { topic, name: child },
    };
  }
  requireEntityName(name);
  return { key: name.toLowerCase(), name, subQueue };
}

/** Removes leading and trailing slashes. A loop, because `/+$` takes quadratic time for many slashes. */
export function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === '/') start++;
  while (end > start && path[end - 1] === '/') end--;
  return path.slice(start, end);
}

function splitSubQueue(path: string): { name: string; subQueue: SubQueue } {
  if (TRANSFER_DEAD_LETTER.test(path)) {
    return { name: path.replace(TRANSFER_DEAD_LETTER, ''), subQueue: 'transferDeadLetter' };
  }
  if (DEAD_LETTER.test(path)) {
    return { name: path.replace(DEAD_LETTER, ''), subQueue: 'deadLetter' };
  }
  return { name: path, subQueue: 'main' };
}

/** Throws ArgumentError for a name that no queue or topic may have. */
export function requireEntityName(name: string): void {
  const { entityPathLength } = LIMITS;
  if (name.length > entityPathLength) {
    throw badName(
      name.slice(0, 40),
      `is ${name.length} characters long; the limit is ${entityPathLength}`,
    );
  }
  if (!QUEUE_OR_TOPIC_NAME.test(name) || name.includes('//')) {
    throw badName(
      name,
      'is not valid: the entity segment can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), must begin with a letter, number or underscore, and must end with one of these or a hyphen',
    );
  }
}

/** Throws ArgumentError for a name that no subscription may have (semantics N5). */
export function requireChildName(name: string): void {
  const { childNameLength } = LIMITS;
  if (name.length > childNameLength) {
    throw badName(
      name.slice(0, 60),
      `is ${name.length} characters long; the limit is ${childNameLength}`,
    );
  }
  if (!CHILD_NAME.test(name)) {
    throw badName(
      name,
      'is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), and must begin and end with a letter, number or underscore',
    );
  }
}

function badName(name: string, why: string): BrokerError {
  return argumentError(`The name '${name}' ${why}.`);
}

/**
 * The path of an entity's sub-queue in the spelling of the `Location` header. `key` = the entity's key or
 * name.
 */
export function pathOf(key: string, subQueue: SubQueue): string {
  switch (subQueue) {
    case 'main':
      return key;
    case 'deadLetter':
      return `${key}/$deadletterqueue`;
    case 'transferDeadLetter':
      return `${key}/$transfer/$deadletterqueue`;
  }
}
