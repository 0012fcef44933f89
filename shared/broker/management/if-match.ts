import { BrokerError } from '../../domain/broker-error.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import type { StoredRule } from '../ports/management.ts';

/** What must be there for an update to be made: anything, or one of these versions. */
export type IfMatch = '*' | readonly string[];

/** The version of an entity: another after every change, and after delete and create. */
export function entityTag(entity: Entity): string {
  return `${entity.id}.${entity.epoch}`;
}

/** The version of a rule, likewise. */
export function ruleTag({ rule, version }: StoredRule): string {
  return `${rule.createdAt}.${version}`;
}

/** Refuses an update made from a version that is no longer there. Throws PreconditionFailed. */
export function requireMatch(ifMatch: IfMatch, tag: string): void {
  if (ifMatch === '*' || ifMatch.includes(tag)) return;
  throw new BrokerError(
    'PreconditionFailed',
    `The resource was changed meanwhile: its ETag is '${tag}', the request expects '${ifMatch.join("', '")}'.`,
  );
}
