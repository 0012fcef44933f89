import type { ListedEntity } from '../../client/everything.ts';

/** What an access may do with an entity. */
export type Right = 'manage' | 'listen' | 'send';

/** A queue, topic or subscription as the page shows it. */
export interface ShownEntity {
  /** Its path: `orders`, `events/subscriptions/audit`. */
  readonly name: string;
  readonly kind: ListedEntity['kind'];
  /** Without those that are deferred. */
  readonly active: number;
  readonly deadLetter: number;
  readonly scheduled: number;
  readonly deferred: number;
  readonly transfer: number;
  readonly transferDeadLetter: number;
  readonly sizeInBytes: number;
  readonly isEstimate: boolean;
  readonly status: string;
  readonly requiresSession: boolean;
  /** The most that the access may do with it; Manage includes the others. */
  readonly right: Right;
  /** Whether it may send, too. */
  readonly canSend: boolean;
  /** All that the service says of it. */
  readonly json: ListedEntity;
}

/** Reads what the service says of an entity. */
export function readEntity(
  json: ListedEntity,
  right: Right = 'manage',
  canSend = true,
): ShownEntity {
  const count = (name: string) => (typeof json[name] === 'number' ? json[name] : 0);
  return {
    name: json.name,
    kind: json.kind,
    active: Math.max(0, count('activeMessageCount') - count('deferredMessageCount')),
    deadLetter: count('deadLetterMessageCount'),
    scheduled: count('scheduledMessageCount'),
    deferred: count('deferredMessageCount'),
    transfer: count('transferMessageCount'),
    transferDeadLetter: count('transferDeadLetterMessageCount'),
    sizeInBytes: count('sizeInBytes'),
    isEstimate: json['countsAreEstimates'] === true,
    status: String(json['status'] ?? 'Active'),
    requiresSession: json['requiresSession'] === true,
    right,
    canSend,
    json,
  };
}

/** How many messages the main queue holds, whatever their state. */
export function mainMessagesOf({ active, scheduled, deferred }: ShownEntity): number {
  return active + scheduled + deferred;
}

/** The messages that somebody has to look at. */
export function deadLettersOf({ deadLetter, transferDeadLetter }: ShownEntity): number {
  return deadLetter + transferDeadLetter;
}
