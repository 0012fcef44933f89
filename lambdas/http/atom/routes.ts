import { Hono } from 'hono';
import type {
  EntityReport,
  EntitySettings,
  ListSubject,
  Management,
} from '../../../shared/broker/management/management.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import type { Entity } from '../../../shared/domain/entities/entity.ts';
import { type EntityPath, parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { badValue } from '../../../shared/domain/entities/setting-checks.ts';
import type { HttpDependencies } from '../http-dependencies.ts';
import { transactionRoutes } from '../routes/transactions.ts';
import { errorHandler } from '../routing/error-response.ts';
import type { RouteName } from '../routing/route-table.ts';
import { AtomAnswer, type ListOptions } from './answer.ts';
import { readEntry, type SentDescription } from './entry.ts';
import { Fields } from './fields.ts';
import { parseManagePath } from './path.ts';
import { readRule } from './read-rule.ts';
import { readQueue, readSubscription, readTopic } from './read-settings.ts';
import { readIfMatch, readPageRange, withDocument } from './request.ts';
import { authorizeForwarding, authorizeOperation } from './rights.ts';

/** What the management routes are built from. */
export type ManageDependencies = HttpDependencies & { readonly management: Management };

/**
 * The ATOM management API (semantics G1), as the official administration client speaks it. Its paths
 * are those of the entities, so it fits every path there is: mount it after the routes of messages.
 *
 * A missing entity is answered with 404 and the error body, not with the empty feed the cloud service
 * sometimes gives: the official clients take both for the same, and everybody else expects the 404.
 */
export function manageRoutes(dependencies: ManageDependencies): Hono {
  const app = new Hono();
  app.onError(errorHandler(dependencies, 'management'));
  // Of no entity, and so no function's of messages.
  app.route('/', transactionRoutes(dependencies));
  app.get('*', (c) => show(dependencies, c.req.raw));
  app.put('*', (c) => put(dependencies, c.req.raw));
  app.delete('*', (c) => remove(dependencies, c.req.raw));
  return app;
}

async function show(dependencies: ManageDependencies, request: Request): Promise<Response> {
  const { management, clock } = dependencies;
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const at = parseManagePath(new URL(request.url).pathname);
  switch (at.kind) {
    case 'discovery':
      return answer.discovery(clock.now());
    case 'namespace':
      await authorizeOperation('namespaceInfo', dependencies, request);
      return answer.namespace(management.tier);
    case 'queues':
      return showEntities(dependencies, request, QUEUES);
    case 'topics':
      return showEntities(dependencies, request, TOPICS);
    case 'subscriptions':
      return showEntities(dependencies, request, subscriptionsOf(parseEntityPath(at.topic)));
    case 'rules':
      return showRules(dependencies, request, at.subscription);
    case 'rule':
      await authorizeOperation('getRule', dependencies, request, parseEntityPath(at.subscription));
      return answer.rule(await management.rules.get(at.subscription, at.name));
    case 'entity':
      await authorizeOperation('getEntity', dependencies, request, parseEntityPath(at.path));
      return answer.entity(await report(management, await management.get(at.path)));
  }
}

async function put(dependencies: ManageDependencies, request: Request): Promise<Response> {
  const { rules } = dependencies.management;
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const at = parseManagePath(new URL(request.url).pathname);
  switch (at.kind) {
    case 'rule': {
      await authorizeOperation('putRule', dependencies, request, parseEntityPath(at.subscription));
      const { kind, element } = await withDocument(dependencies, request, readEntry);
      if (kind !== 'RuleDescription') throw wrongDescription(kind, 'RuleDescription');
      const rule = readRule(element, at.name);
      const ifMatch = readIfMatch(request.headers);
      return ifMatch === undefined
        ? answer.rule(await rules.create(at.subscription, rule), 201)
        : answer.rule(await rules.update(at.subscription, rule, ifMatch));
    }
    case 'entity':
      return putEntity(dependencies, request, at.path);
    default:
      throw notAnEntity(request);
  }
}

/** Creates; or replaces where `If-Match` says that something should be there (semantics G1). */
async function putEntity(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const { management } = dependencies;
  await authorizeOperation('putEntity', dependencies, request, parseEntityPath(path));
  const { settings, sizeInBytes } = await withDocument(dependencies, request, (body) => {
    const sent = readEntry(body);
    return { settings: readSettings(sent, path), sizeInBytes: saidSize(sent, request) };
  });
  await authorizeForwarding(dependencies, request, settings);
  const ifMatch = readIfMatch(request.headers);
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  const entity =
    ifMatch === undefined
      ? await management.create(path, settings)
      : await management.update(path, settings, ifMatch);
  const reported = withSize(await report(management, entity), sizeInBytes);
  return answer.entity(reported, ifMatch === undefined ? 201 : 200);
}

/** The last version of which it is known that the answer to a PUT repeats the size that was sent. */
const SIZE_REPEATED_VERSION = '2016-07';

/** The size that a client of an old version says an entity has. Throws ArgumentError. */
function saidSize({ element }: SentDescription, request: Request): number | undefined {
  const version = new URL(request.url).searchParams.get('api-version');
  if (version === null || version > SIZE_REPEATED_VERSION) return undefined;
  return new Fields(element).whole('SizeInBytes');
}

/** Recorded by the vendor's REST client for Node in 2014: what was sent comes back. */
function withSize(reported: EntityReport, size: number | undefined): EntityReport {
  if (size === undefined) return reported;
  return { ...reported, messages: { ...reported.messages, size } };
}

async function remove(dependencies: ManageDependencies, request: Request): Promise<Response> {
  const { management } = dependencies;
  const at = parseManagePath(new URL(request.url).pathname);
  const ifMatch = readIfMatch(request.headers);
  switch (at.kind) {
    case 'rule':
      await authorizeOperation(
        'deleteRule',
        dependencies,
        request,
        parseEntityPath(at.subscription),
      );
      await management.rules.delete(at.subscription, at.name, ifMatch);
      break;
    case 'entity':
      await authorizeOperation('deleteEntity', dependencies, request, parseEntityPath(at.path));
      await removeEntity(management, at.path, ifMatch);
      break;
    default:
      throw notAnEntity(request);
  }
  return new Response(null, { status: 200 });
}

/** Removes an entity; what is missing is refused in the service's words, as recorded. */
async function removeEntity(
  management: Management,
  path: string,
  ifMatch: ReturnType<typeof readIfMatch>,
): Promise<void> {
  try {
    await management.delete(path, ifMatch);
  } catch (error) {
    if (!isEntityNotFound(error)) throw error;
    const { subscription } = parseEntityPath(path);
    // A subscription is missed by its topic, all else by the namespace.
    if (subscription !== undefined && (await isThere(management, subscription.topic))) throw error;
    throw new BrokerError(
      'MessagingEntityNotFound',
      'No service is hosted at the specified address.',
    );
  }
}

async function isThere(management: Management, path: string): Promise<boolean> {
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

/** A list of entities and how it is called. */
interface EntityList {
  readonly operation: RouteName;
  readonly title: ListOptions['title'];
  readonly of: ListSubject;
  /** The entity whose rules of access hold for it too; none for lists of the namespace. */
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

async function showEntities(
  dependencies: ManageDependencies,
  request: Request,
  { operation, title, of, within }: EntityList,
): Promise<Response> {
  const { management, clock } = dependencies;
  await authorizeOperation(operation, dependencies, request, within);
  const range = readPageRange(new URL(request.url).searchParams);
  const { items, more } = await management.list({ ...of, ...range });
  const reports = await management.report(items);
  const answer = new AtomAnswer(request.url, dependencies.namespace);
  return answer.entities(reports, { title, range, more, now: clock.now() });
}

async function showRules(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const subscription = parseEntityPath(path);
  await authorizeOperation('listRules', dependencies, request, subscription);
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
  assert(only !== undefined, 'there is a report for each entity');
  return only;
}

function wrongDescription(kind: string, wanted: string): BrokerError {
  return badValue(`The path needs another description than ${kind}: ${wanted}.`);
}

function notAnEntity(request: Request): BrokerError {
  const { pathname } = new URL(request.url);
  return badValue(`'${pathname.slice(0, 300)}' is a list or a view; it can only be read.`);
}
