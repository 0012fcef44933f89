import { Hono } from 'hono';
import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import {
  type EntityReport,
  type ListSubject,
  type Management,
  reportOfNew,
} from '../../../shared/broker/management/management.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { argumentError, BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { errorHandler } from '../routing/error-response.ts';
import type { RouteName } from '../routing/route-table.ts';
import { AtomAnswer, type ListOptions } from './answer.ts';
import { readEntry, type SentDescription } from './entry.ts';
import { ElementFields } from './fields.ts';
import { parseManagePath } from './path.ts';
import { readRule } from './read-rule.ts';
import { readQueue, readSubscription, readTopic } from './read-settings.ts';
import { readIfMatch, readPageRange, withDocument } from './request.ts';
import { authorizeFor, authorizeForwarding } from './rights.ts';

/** The dependencies of the management routes. */
export type ManageDependencies = HttpDependencies & { readonly management: Management };

/**
 * The routes of the ATOM management API (semantics G1), which the official administration client uses. They
 * match every path, since every path may name an entity: mount them after all other routes.
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
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const target = parseManagePath(new URL(request.url).pathname);
  switch (target.kind) {
    case 'discovery':
      return answer.discovery(clock.now());
    case 'namespace':
      await authorizeFor('namespaceInfo', dependencies, request);
      return answer.namespace(management.tier);
    case 'queues':
      return listEntities(dependencies, request, QUEUES);
    case 'topics':
      return listEntities(dependencies, request, TOPICS);
    case 'subscriptions':
      return listEntities(dependencies, request, subscriptionsOf(parseEntityPath(target.topic)));
    case 'rules':
      return listRules(dependencies, request, target.subscription);
    case 'rule':
      await authorizeFor('getRule', dependencies, request, parseEntityPath(target.subscription));
      return answer.rule(await management.rules.get(target.subscription, target.name));
    case 'entity':
      await authorizeFor('getEntity', dependencies, request, parseEntityPath(target.path));
      return answer.entity(await report(management, await management.get(target.path)));
  }
}

async function putResource(dependencies: ManageDependencies, request: Request): Promise<Response> {
  const { rules } = dependencies.management;
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const target = parseManagePath(new URL(request.url).pathname);
  switch (target.kind) {
    case 'rule': {
      await authorizeFor('putRule', dependencies, request, parseEntityPath(target.subscription));
      const { kind, element } = await withDocument(dependencies, request, readEntry);
      if (kind !== 'RuleDescription') throw wrongDescription(kind, 'RuleDescription');
      const rule = readRule(element, target.name);
      const ifMatch = readIfMatch(request.headers);
      return ifMatch === undefined
        ? answer.rule(await rules.create(target.subscription, rule), 201)
        : answer.rule(await rules.update(target.subscription, rule, ifMatch));
    }
    case 'entity':
      return putEntity(dependencies, request, target.path);
    default:
      throw notAnEntity(request);
  }
}

/** Creates the entity or, only with `If-Match`, replaces its settings (semantics G1, #136). */
async function putEntity(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const { management } = dependencies;
  await authorizeFor('putEntity', dependencies, request, parseEntityPath(path));
  const { settings, sizeInBytes } = await withDocument(dependencies, request, (body) => {
    const sent = readEntry(body);
    return { settings: readSettings(sent, path), sizeInBytes: sentSize(sent, request) };
  });
  await authorizeForwarding(dependencies, request, settings);
  const ifMatch = readIfMatch(request.headers);
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const reported =
    ifMatch === undefined
      ? reportOfNew(await management.create(path, settings))
      : await report(management, await management.update(path, settings, ifMatch));
  return answer.entity(withSize(reported, sizeInBytes), ifMatch === undefined ? 201 : 200);
}

/** The last API version whose response to a PUT is known to repeat the size in the request (semantics G6). */
const SIZE_REPEATED_VERSION = '2016-07';

/** The size in the request of a client of an old version, bytes. Throws ArgumentError. */
function sentSize({ element }: SentDescription, request: Request): number | undefined {
  const version = new URL(request.url).searchParams.get('api-version');
  if (version === null || version > SIZE_REPEATED_VERSION) return undefined;
  return new ElementFields(element).integer('SizeInBytes');
}

/** Repeats the size of the request, as the vendor's REST client for Node recorded it in 2014. */
function withSize(reported: EntityReport, size: number | undefined): EntityReport {
  if (size === undefined) return reported;
  return { ...reported, messages: { ...reported.messages, size } };
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
    case 'entity':
      await authorizeFor('deleteEntity', dependencies, request, parseEntityPath(target.path));
      await deleteEntity(management, target.path, ifMatch);
      break;
    default:
      throw notAnEntity(request);
  }
  return new Response(null, { status: 200 });
}

/** Deletes an entity; refuses a missing one in the service's words, as recorded by its clients (semantics G4). */
async function deleteEntity(
  management: Management,
  path: string,
  ifMatch: ReturnType<typeof readIfMatch>,
): Promise<void> {
  try {
    await management.delete(path, ifMatch);
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
  const reports = await management.report(items);
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  return answer.entities(reports, { title, range, more, now: clock.now() });
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
  return new AtomAnswer(request.url, dependencies.namespace).rules(items, {
    title: 'Rules',
    range,
    more,
    now: dependencies.clock.now(),
  });
}

function readSettings({ kind, element }: SentDescription, path: string): EntitySettings {
  switch (kind) {
    case 'QueueDescription':
      return readQueue(element, path);
    case 'TopicDescription':
      return readTopic(element);
    case 'SubscriptionDescription':
      return readSubscription(element, path);
    case 'RuleDescription':
      throw wrongDescription(kind, 'that of a queue, topic or subscription');
  }
}

async function report(management: Management, entity: Entity): Promise<EntityReport> {
  const [only] = await management.report([entity]);
  assert(only !== undefined, 'every entity has a report');
  return only;
}

function wrongDescription(kind: string, wanted: string): BrokerError {
  return argumentError(`The description ${kind} does not fit the path; it needs ${wanted}.`);
}

function notAnEntity(request: Request): BrokerError {
  const { pathname } = new URL(request.url);
  return argumentError(`'${pathname.slice(0, 300)}' is a list or a view, which can only be read.`);
}
