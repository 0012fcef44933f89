import { BrokerError } from '../broker-error.ts';
import { LIMITS } from '../limits.ts';

/** Which of an entity's stores a path names. */
export type SubQueue = 'main' | 'deadLetter' | 'transferDeadLetter';

/** A parsed path: the entity, in lower case because names compare so, and the store in it. */
export interface EntityPath {
  /** `orders`, `a/b/c`, or `topic/subscriptions/name`; lower case, the key of the entity. */
  readonly key: string;
  /** The same as the client spelt it. */
  readonly name: string;
  readonly subQueue: SubQueue;
  /** Set when the path names a subscription. */
  readonly subscription?: { readonly topic: string; readonly name: string };
}

const DEAD_LETTER = /\/\$deadletterqueue$/i;
const TRANSFER_DEAD_LETTER = /\/\$transfer\/\$deadletterqueue$/i;
const SUBSCRIPTION = /^(.+)\/subscriptions\/([^/]+)$/i;
/** Letters, digits, `.`, `-`, `_`, `/`; begins and ends with a letter or digit (semantics N4). */
const QUEUE_OR_TOPIC_NAME = /^[a-z0-9](?:[a-z0-9._/-]*[a-z0-9])?$/i;
const CHILD_NAME = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i;

/** Reads an entity path as it stands in a URL, already percent-decoded. Throws ArgumentError. */
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

/** Not by a pattern: `/+$` takes quadratic time on long runs of slashes. */
function trimSlashes(path: string): string {
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

/** Refuses a name that no queue or topic may have. Throws ArgumentError. */
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
      'is not valid: the entity segment can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), and must begin and end with a letter or number',
    );
  }
}

/** Refuses a name that no subscription may have. Throws ArgumentError. */
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
      'is not valid: it can contain only letters, numbers, periods (.), hyphens (-), and underscores (_), and must begin and end with a letter or number',
    );
  }
}

function badName(name: string, why: string): BrokerError {
  return new BrokerError('ArgumentError', `The name '${name}' ${why}.`, { subCode: '40000' });
}

/** The path under which clients address a store, in the spelling of the `Location` header. */
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
