import { Hono } from 'hono';
import type { ListSubject, Management } from '../../../shared/broker/management/management.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { AtomAnswer } from '../atom/answer.ts';
import { errorHandler } from '../routing/error-response.ts';
import type { RouteName } from '../routing/route-table.ts';
import type { ListOptions } from './answer.ts';
import { getConsumer, listConsumers, onConsumers } from './consumers.ts';
import { answerTo, type ManageDependencies, notAnEntity, reportOf } from './dependencies.ts';
import { listEverything } from './everything.ts';
import { parseManagePath } from './path.ts';
import { putResource } from './put.ts';
import { readIfMatch, readPageRange, wantsFilterCounts } from './request.ts';
import { authorizeFor } from './rights.ts';

/**
 * The routes of the management API (semantics G1): ATOM, which the official administration client uses, or JSON
 * (semantics G25). They match every path, since every path may name an entity: mount them after all other routes.
 *
 * A missing entity gets a 404 with the error body, not the empty feed that the cloud service sometimes
 * returns: the official clients treat both alike, and other clients expect the 404 (semantics G4).
 */
export function manageRoutes(dependencies: ManageDependencies): Hono {
  const app = new Hono();
  app.onError(errorHandler(dependencies, 'management'));
  app.get('*', (c) => getResource(dependencies, c.req.raw));
  app.put('*', (c) => putResource(dependencies, c.req.raw));
  app.delete('*', (c) => deleteResource(dependencies, c.req.raw));
  return app;
}

async function getResource(dependencies: ManageDependencies, request: Request): Promise<Response> {
  const { management, clock } = dependencies;
  const answer = answerTo(dependencies, request);
  const target = parseManagePath(new URL(request.url).pathname);
  switch (target.kind) {
    case 'discovery':
      return new AtomAnswer(request.url, dependencies.namespace).discovery(clock.now());
    case 'namespace':
      await authorizeFor('namespaceInfo', dependencies, request);
      return answer.namespace(management.tier);
    case 'everything':
      return listEverything(dependencies, request);
    case 'queues':
      return listEntities(dependencies, request, QUEUES);
    case 'topics':
      return listEntities(dependencies, request, TOPICS);
    case 'subscriptions':
      return listEntities(dependencies, request, subscriptionsOf(parseEntityPath(target.topic)));
    case 'rules':
      return listRules(dependencies, request, target.subscription);
    case 'consumers':
      return onConsumers('listConsumers', dependencies, request, target, {
        asConsumers: () => listConsumers(dependencies, target),
        asEntity: (path) => getEntity(dependencies, request, path),
      });
    case 'consumer':
      return onConsumers('getConsumer', dependencies, request, target, {
        asConsumers: () => getConsumer(dependencies, target),
        asEntity: (path) => getEntity(dependencies, request, path),
      });
    case 'rule':
      await authorizeFor('getRule', dependencies, request, parseEntityPath(target.subscription));
      return answer.rule(await management.rules.get(target.subscription, target.name));
    case 'entity':
      return getEntity(dependencies, request, target.path);
  }
}

async function getEntity(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const { management } = dependencies;
  await authorizeFor('getEntity', dependencies, request, parseEntityPath(path));
  const entity = await management.get(path);
  const report = await reportOf(management, entity, wantsFilterCounts(request));
  return answerTo(dependencies, request).entity(report);
}

async function deleteResource(
  dependencies: ManageDependencies,
  request: Request,
): Promise<Response> {
  const { management } = dependencies;
  const target = parseManagePath(new URL(request.url).pathname);
  const ifMatch = readIfMatch(request.headers);
  switch (target.kind) {
    case 'rule':
      await authorizeFor('deleteRule', dependencies, request, parseEntityPath(target.subscription));
      await management.rules.delete(target.subscription, target.name, ifMatch);
      break;
    case 'consumer':
      await onConsumers('deleteConsumer', dependencies, request, target, {
        asConsumers: () => management.consumers.remove(target.of, target.name, ifMatch),
        asEntity: (path) => deleteEntity(dependencies, request, path),
      });
      break;
    case 'entity':
      await deleteEntity(dependencies, request, target.path);
      break;
    default:
      throw notAnEntity(request);
  }
  return new Response(null, { status: 200 });
}

/** Deletes an entity; refuses a missing one in the service's words, as recorded by its clients (semantics G4). */
async function deleteEntity(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<void> {
  await authorizeFor('deleteEntity', dependencies, request, parseEntityPath(path));
  const { management } = dependencies;
  try {
    await management.delete(path, readIfMatch(request.headers));
  } catch (error) {
    if (!isEntityNotFound(error)) throw error;
    const { subscription } = parseEntityPath(path);
    // The service has another sentence for a missing subscription of an existing topic.
    if (subscription !== undefined && (await exists(management, subscription.topic))) throw error;
    throw new BrokerError(
      'MessagingEntityNotFound',
      'No service is hosted at the specified address.',
    );
  }
}

async function exists(management: Management, path: string): Promise<boolean> {
  try {
    await management.get(path);
    return true;
  } catch (error) {
    if (isEntityNotFound(error)) return false;
    throw error;
  }
}

function isEntityNotFound(error: unknown): boolean {
  return error instanceof BrokerError && error.code === 'MessagingEntityNotFound';
}

/** A list of entities. */
interface EntityList {
  readonly operation: RouteName;
  readonly title: ListOptions['title'];
  readonly of: ListSubject;
  /** The entity whose authorization rules also apply; absent for lists of the namespace. */
  readonly within?: EntityPath;
}

const QUEUES: EntityList = {
  operation: 'listQueues',
  title: 'Queues',
  of: { kind: 'queue' },
};
const TOPICS: EntityList = {
  operation: 'listTopics',
  title: 'Topics',
  of: { kind: 'topic' },
};

function subscriptionsOf(topic: EntityPath): EntityList {
  return {
    operation: 'listSubscriptions',
    title: 'Subscriptions',
    of: { kind: 'subscription', topic: topic.key },
    within: topic,
  };
}

async function listEntities(
  dependencies: ManageDependencies,
  request: Request,
  { operation, title, of, within }: EntityList,
): Promise<Response> {
  const { management, clock } = dependencies;
  await authorizeFor(operation, dependencies, request, within);
  const range = readPageRange(new URL(request.url).searchParams);
  const { items, more } = await management.list({ ...of, ...range });
  const reports = await management.report(items, wantsFilterCounts(request));
  return answerTo(dependencies, request).entities(reports, {
    title,
    range,
    more,
    now: clock.now(),
  });
}

async function listRules(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const subscription = parseEntityPath(path);
  await authorizeFor('listRules', dependencies, request, subscription);
  const range = readPageRange(new URL(request.url).searchParams);
  const { items, more } = await dependencies.management.rules.list(path, range);
  return answerTo(dependencies, request).rules(items, {
    title: 'Rules',
    range,
    more,
    now: dependencies.clock.now(),
  });
}
