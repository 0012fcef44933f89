import { BrokerError } from '../../domain/broker-error.ts';
import type { Consumer } from '../../domain/consumers/consumer.ts';
import type { Entity } from '../../domain/entities/entity.ts';
import { shortened } from '../../domain/fault-words.ts';
import type { StoredRule } from '../ports/management.ts';

/** How much of the expected versions an error repeats, characters. */
const SHOWN_LENGTH_MAX = 200;

/** The condition of an update: any existing version, or one of these. */
export type IfMatch = '*' | readonly string[];

/** The version of an entity. It differs after every change, and after delete and create. */
export function entityTag(entity: Entity): string {
  return `${entity.id}.${entity.epoch}`;
}

/** The version of a rule. It differs after every change, and after delete and create. */
export function ruleTag({ rule, version }: StoredRule): string {
  return `${rule.createdAt}.${version}`;
}

/** The version of a consumer. It differs after every change, and after delete and create. */
export function consumerTag({ id, version }: Consumer): string {
  return `${id}.${version}`;
}

/** Throws PreconditionFailed if the version does not match (semantics G2). */
export function requireMatch(ifMatch: IfMatch, tag: string): void {
  if (ifMatch === '*' || ifMatch.includes(tag)) return;
  const expected = shortened(ifMatch.join("', '"), SHOWN_LENGTH_MAX);
  throw new BrokerError(
    'PreconditionFailed',
    `The resource was changed meanwhile: its ETag is '${tag}', the request expects '${expected}'.`,
  );
}
