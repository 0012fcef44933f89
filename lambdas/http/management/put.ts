import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import { type EntityReport, reportOfNew } from '../../../shared/broker/management/management.ts';
import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { argumentError, type BrokerError } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { readEntry, type SentDescription } from '../atom/entry.ts';
import { ElementFields } from '../atom/fields.ts';
import { readRule as readAtomRule } from '../atom/read-rule.ts';
import { readQueue, readSubscription, readTopic } from '../atom/read-settings.ts';
import { readEntity } from '../json/read-entity.ts';
import { readRule } from '../json/read-rule.ts';
import { onConsumers, putConsumer } from './consumers.ts';
import { answerTo, type ManageDependencies, notAnEntity, reportOf } from './dependencies.ts';
import { hasJsonBody } from './media-types.ts';
import { type ManagePath, parseManagePath } from './path.ts';
import { readIfMatch, withDocument } from './request.ts';
import { authorizeFor, authorizeForwarding } from './rights.ts';

/**
 * Creates the entity or rule of the path or, only with `If-Match`, replaces it (semantics G1, #136). The body is ATOM
 * or JSON, as its Content-Type says (semantics G25). A consumer is created or replaced, from JSON (semantics J5).
 * Throws as `authorize`, and as `Management`, its rules and its consumers.
 */
export async function putResource(
  dependencies: ManageDependencies,
  request: Request,
): Promise<Response> {
  const target = parseManagePath(new URL(request.url).pathname);
  switch (target.kind) {
    case 'rule':
      return await putRule(dependencies, request, target);
    case 'consumer':
      return await onConsumers('putConsumer', dependencies, request, target, {
        asConsumers: () => putConsumer(dependencies, request, target),
        asEntity: (path) => putEntity(dependencies, request, path),
      });
    case 'entity':
      return await putEntity(dependencies, request, target.path);
    default:
      throw notAnEntity(request);
  }
}

async function putRule(
  dependencies: ManageDependencies,
  request: Request,
  { subscription, name }: Extract<ManagePath, { kind: 'rule' }>,
): Promise<Response> {
  const { rules } = dependencies.management;
  await authorizeFor('putRule', dependencies, request, parseEntityPath(subscription));
  const rule = await withDocument(dependencies, request, (body) =>
    hasJsonBody(request) ? readRule(body, name) : ruleOfEntry(body, name),
  );
  const ifMatch = readIfMatch(request.headers);
  const answer = answerTo(dependencies, request);
  return ifMatch === undefined
    ? answer.rule(await rules.create(subscription, rule), 201)
    : answer.rule(await rules.update(subscription, rule, ifMatch));
}

function ruleOfEntry(body: Uint8Array, name: string): RuleInput {
  const { kind, element } = readEntry(body);
  if (kind !== 'RuleDescription') throw wrongDescription(kind, 'RuleDescription');
  return readAtomRule(element, name);
}

async function putEntity(
  dependencies: ManageDependencies,
  request: Request,
  path: string,
): Promise<Response> {
  const { management } = dependencies;
  await authorizeFor('putEntity', dependencies, request, parseEntityPath(path));
  const { settings, sizeInBytes } = await withDocument(dependencies, request, (body) =>
    hasJsonBody(request)
      ? { settings: readEntity(body, path, management.tier), sizeInBytes: undefined }
      : settingsOfEntry(body, path, request),
  );
  await authorizeForwarding(dependencies, request, settings);
  const ifMatch = readIfMatch(request.headers);
  const answer = answerTo(dependencies, request);
  const reported =
    ifMatch === undefined
      ? reportOfNew(await management.create(path, settings))
      : await reportOf(management, await management.update(path, settings, ifMatch));
  return answer.entity(withSize(reported, sizeInBytes), ifMatch === undefined ? 201 : 200);
}

function settingsOfEntry(body: Uint8Array, path: string, request: Request) {
  const sent = readEntry(body);
  return { settings: readSettings(sent, path), sizeInBytes: sentSize(sent, request) };
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

function wrongDescription(kind: string, wanted: string): BrokerError {
  return argumentError(`The description ${kind} does not fit the path; it needs ${wanted}.`);
}
