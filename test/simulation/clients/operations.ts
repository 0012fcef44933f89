import type { Composition } from '../../../lambdas/http/compose.ts';
import type { Broker } from '../../../shared/broker/broker.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { Heard } from '../engine/process.ts';
import type { Action } from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import type { Details } from './record.ts';

export type ActionOf<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>;
export type Answer = Details;

/** An operation with everything that a client has to say chosen. */
export interface Prepared {
  /** Asks a process; what it resolves to becomes part of the record. */
  readonly ask: (composition: Composition) => Promise<Answer>;
  /** Keeps what the client learnt; returns what becomes part of the record. */
  readonly note: (heard: Heard<Answer>) => Details;
}

/** How each kind of action is carried out; undefined = the client has nothing to do it with. */
export type Operations<Kinds extends Action['kind']> = {
  readonly [Kind in Kinds]: (client: Actor, action: ActionOf<Kind>) => Prepared | undefined;
};

/** What was answered, or what is known without an answer. */
export function answerOr(heard: Heard<Answer>, otherwise: Details = {}): Details {
  return heard.kind === 'done' ? heard.value : otherwise;
}

/** Asks the broker. */
export function broker(composition: Composition): Broker {
  return composition.dependencies.broker;
}

const paths = new Map<string, EntityPath>();

/** A path, read once. */
export function pathOf(text: string): EntityPath {
  const known = paths.get(text) ?? parseEntityPath(text);
  paths.set(text, known);
  return known;
}
