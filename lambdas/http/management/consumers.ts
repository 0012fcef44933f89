import type { ConsumerOf } from '../../../shared/broker/management/consumers.ts';
import { consumerTag } from '../../../shared/broker/management/if-match.ts';
import { argumentError, BrokerError } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { readConsumer } from '../json/read-consumer.ts';
import { consumerJson } from '../json/write-consumer.ts';
import type { ManageDependencies } from './dependencies.ts';
import { hasJsonBody } from './media-types.ts';
import type { ManagePath } from './path.ts';
import { readIfMatch, withDocument } from './request.ts';
import { authorizeFor } from './rights.ts';

/** A consumer in a path. */
export type ConsumerPath = Extract<ManagePath, { readonly kind: 'consumer' }>;
/** The list of consumers in a path. */
export type ConsumersPath = Extract<ManagePath, { readonly kind: 'consumers' }>;

/** What to do with a path of consumers: with an entity that has it as its name, or with consumers. */
interface Handlers<Done> {
  readonly asEntity: (path: string) => Promise<Done>;
  readonly asConsumers: () => Promise<Done>;
}

/**
 * Authorizes a request for an operation on consumers and runs it. If no entity is in front of `consumers`, but one has
 * the whole path as its name, since before consumers reserved it, the path is that of this entity (semantics J7). Costs
 * a read of an entity that seldom exists. Throws as `authorize` and as the handlers.
 */
export async function onConsumers<Done>(
  operation: 'listConsumers' | 'getConsumer' | 'putConsumer' | 'deleteConsumer',
  dependencies: ManageDependencies,
  request: Request,
  { of, path }: ConsumerPath | ConsumersPath,
  { asEntity, asConsumers }: Handlers<Done>,
): Promise<Done> {
  await authorizeFor(operation, dependencies, request, parseEntityPath(of));
  const isOldName = (await exists(dependencies, path)) && !(await exists(dependencies, of));
  return isOldName ? await asEntity(path) : await asConsumers();
}

/** The answer with a consumer, always in JSON (semantics J5). Throws as `ConsumerManagement`. */
export async function getConsumer(
  { management }: ManageDependencies,
  { of, name }: ConsumerPath,
): Promise<Response> {
  return consumerResponse(await management.consumers.get(of, name));
}

/** The answer with the consumers of a queue or dead-letter queue, which are few. Throws as `getConsumer`. */
export async function listConsumers(
  { management }: ManageDependencies,
  { of }: ConsumersPath,
): Promise<Response> {
  const consumers = await management.consumers.list(of);
  return Response.json({ consumers: consumers.map(consumerJson) });
}

/** Creates or replaces a consumer; with If-Match only replaces it. Throws as `getConsumer`. */
export async function putConsumer(
  dependencies: ManageDependencies,
  request: Request,
  { of, name }: ConsumerPath,
): Promise<Response> {
  if (!hasJsonBody(request)) {
    throw argumentError(
      'The body of a consumer must be JSON: send it with the header Content-Type: application/json.',
    );
  }
  const input = await withDocument(dependencies, request, (body) => readConsumer(body, name));
  const ifMatch = readIfMatch(request.headers);
  const put = await dependencies.management.consumers.put(of, name, input, ifMatch);
  return consumerResponse(put, put.isNew ? 201 : 200);
}

async function exists({ entities }: ManageDependencies, path: string): Promise<boolean> {
  try {
    return (await entities.find(parseEntityPath(path).key)) !== undefined;
  } catch (error) {
    // A path with a dead-letter queue inside names no entity.
    if (error instanceof BrokerError && error.code === 'ArgumentError') return false;
    throw error;
  }
}

function consumerResponse(found: ConsumerOf, status: 200 | 201 = 200): Response {
  return Response.json(consumerJson(found), {
    status,
    headers: { ETag: `"${consumerTag(found.consumer)}"` },
  });
}
