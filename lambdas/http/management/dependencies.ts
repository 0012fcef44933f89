import type { EntityReport, Management } from '../../../shared/broker/management/management.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { argumentError, type BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { AtomAnswer } from '../atom/answer.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { JsonAnswer } from '../json/answer.ts';
import type { ManagementAnswer } from './answer.ts';
import { answersJson } from './media-types.ts';

/** The dependencies of the management routes. */
export type ManageDependencies = HttpDependencies & { readonly management: Management };

/** Creates the responses to a request, in the form that its headers ask for. */
export function answerTo(dependencies: ManageDependencies, request: Request): ManagementAnswer {
  const Answer = answersJson(request) ? JsonAnswer : AtomAnswer;
  return new Answer(request.url, dependencies.namespace);
}

/**
 * An entity with its runtime counts. Costs what the counts cost.
 * @param filters whether to count those of a topic, too
 */
export async function reportOf(
  management: Management,
  entity: Entity,
  filters = false,
): Promise<EntityReport> {
  const [only] = await management.report([entity], filters);
  assert(only !== undefined, 'every entity has a report');
  return only;
}

/** ArgumentError: the path of the request can only be read. */
export function notAnEntity(request: Request): BrokerError {
  const { pathname } = new URL(request.url);
  return argumentError(`'${pathname.slice(0, 300)}' is a list or a view, which can only be read.`);
}
