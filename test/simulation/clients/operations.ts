import type { Composition } from '../../../lambdas/http/compose.ts';
import type { Broker } from '../../../shared/broker/broker.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { Result } from '../machines/process.ts';
import type { Action } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import type { Details } from './record.ts';

export type ActionOf<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>;
export type Answer = Details;

/** An operation whose arguments are chosen. */
export interface Prepared {
  /** Calls a process; the result becomes part of the record. */
  readonly run: (composition: Composition) => Promise<Answer>;
  /** Updates what the client knows; returns the operation's part of the record. */
  readonly record: (result: Result<Answer>) => Details;
}

/** The operation for each kind of action; undefined = the client has nothing to perform it on. */
export type Operations<Kinds extends Action['kind']> = {
  readonly [Kind in Kinds]: (client: Actor, action: ActionOf<Kind>) => Prepared | undefined;
};

/** The answer, or `otherwise` without one. */
export function answerOr(result: Result<Answer>, otherwise: Details = {}): Details {
  return result.kind === 'done' ? result.value : otherwise;
}

/** The broker of a process. */
export function broker(composition: Composition): Broker {
  return composition.dependencies.broker;
}

const paths = new Map<string, EntityPath>();

/** Parses a path, each text once. */
export function pathOf(text: string): EntityPath {
  const known = paths.get(text) ?? parseEntityPath(text);
  paths.set(text, known);
  return known;
}
