import { type EntryOptions, entryDocument, feedDocument, innerEntry } from '../atom/entry.ts';
import {
  answer,
  content,
  type Fragment,
  header,
  json,
  type OperationDetails,
  type ParameterName,
  type RefusalStatus,
  requestBody,
} from './components.ts';
import { AT, EXAMPLES, JSON_EXAMPLES, JSON_REQUESTS, REQUESTS } from './management-examples.ts';
import type { Schema } from './schema-parts.ts';
import { schemaNamed } from './schemas.ts';

// The details of the management operations. The code that writes real responses also writes these examples.

const ENTRY = 'application/atom+xml;type=entry;charset=utf-8';
const FEED = 'application/atom+xml;type=feed;charset=utf-8';
const XML = { type: 'string' } as const;

const etag = { ETag: header('The version of the entity or rule, for If-Match.', '"5f0dcd6a.0"') };
const { rule: ruleExample, ...entityExamples } = JSON_EXAMPLES;
const oneEntity = {
  ...named(ENTRY, XML, {
    queue: entryDocument(EXAMPLES.queue),
    topic: entryDocument(EXAMPLES.topic),
    subscription: entryDocument(EXAMPLES.subscription),
  }),
  ...named('application/json', schemaNamed('Entity'), entityExamples),
};
const oneRule = {
  ...content(ENTRY, XML, [entryDocument(EXAMPLES.rule)]),
  ...json('Rule', ruleExample),
};

/** The content of a body of one media type, with examples by name. */
function named(
  type: string,
  schema: Schema,
  examples: Readonly<Record<string, unknown>>,
): Fragment {
  const values = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { [type]: { schema, examples: Object.fromEntries(values) } };
}

const ANY: readonly RefusalStatus[] = [400, 401, 403, 500, 503, 504];
const ADDRESSING: readonly RefusalStatus[] = [...ANY, 404];
const CHANGING: readonly RefusalStatus[] = [...ADDRESSING, 409, 412];

function list(
  title: string,
  path: string,
  listed: EntryOptions,
  shown: Fragment,
  refusals: readonly RefusalStatus[],
): OperationDetails {
  const self = `http://localhost:5300/${path}?%24skip=0&%24top=100&api-version=2021-05`;
  const feed = feedDocument({ title, self, updatedAt: AT, entries: [innerEntry(listed)] });
  return {
    description: 'If there are further entries, there is a link `next`.',
    parameters: ['skip', 'top', 'apiVersion'],
    answers: { 200: answer('A page of the list.', { ...content(FEED, XML, [feed]), ...shown }) },
    refusals,
  };
}

/** A page of entities in JSON. */
const entities = (kind: keyof typeof entityExamples): Fragment =>
  json('Entities', { entities: [JSON_EXAMPLES[kind]] });

function put(
  description: string,
  requests: Fragment,
  entryContent: Fragment,
  ...parameters: readonly ParameterName[]
): OperationDetails {
  return {
    description,
    parameters: ['ifMatch', ...parameters, 'apiVersion'],
    body: requestBody(requests),
    answers: {
      200: answer('Replaced. Every omitted setting has its default again.', entryContent, etag),
      201: answer('Created.', entryContent, etag),
    },
    refusals: CHANGING,
  };
}

function get(entryContent: Fragment): OperationDetails {
  return {
    parameters: ['apiVersion'],
    answers: { 200: answer('The entity or rule.', entryContent, etag) },
    refusals: ADDRESSING,
  };
}

const remove: OperationDetails = {
  parameters: ['ifMatch', 'apiVersion'],
  answers: { 200: answer('Deleted.') },
  refusals: CHANGING,
};

/** The details of the management operations, by route name. */
export const MANAGEMENT_OPERATIONS = {
  listEverything: {
    description:
      'Each topic is followed by its subscriptions, each subscription has its rules. `next` is the URL of the next page.',
    parameters: ['after', 'everythingTop', 'apiVersion'],
    answers: {
      200: answer(
        'A page of entities.',
        json('Everything', {
          entities: [
            JSON_EXAMPLES.queue,
            JSON_EXAMPLES.topic,
            { ...JSON_EXAMPLES.subscription, rules: [JSON_EXAMPLES.rule] },
          ],
        }),
      ),
    },
    refusals: ANY,
  },
  discover: {
    parameters: ['apiVersion'],
    answers: {
      200: answer(
        'An empty feed.',
        content(FEED, XML, [
          feedDocument({
            title: 'Publicly Listed Services',
            self: 'http://localhost:5300/?api-version=2021-05',
            updatedAt: AT,
            entries: [],
          }),
        ]),
      ),
    },
    refusals: [500],
  },
  namespaceInfo: {
    parameters: ['apiVersion'],
    answers: {
      200: answer('The namespace.', {
        ...content(ENTRY, XML, [entryDocument(EXAMPLES.namespace)]),
        ...json('Namespace', { name: 'dynabus', messagingSku: 'Standard' }),
      }),
    },
    refusals: ANY,
  },
  listQueues: list('Queues', '$Resources/Queues', EXAMPLES.queue, entities('queue'), ANY),
  listTopics: list('Topics', '$Resources/Topics', EXAMPLES.topic, entities('topic'), ANY),
  listSubscriptions: list(
    'Subscriptions',
    'events/Subscriptions',
    EXAMPLES.subscription,
    entities('subscription'),
    ADDRESSING,
  ),
  listRules: list(
    'Rules',
    'events/Subscriptions/billing/Rules',
    EXAMPLES.rule,
    json('Rules', { rules: [JSON_EXAMPLES.rule] }),
    ADDRESSING,
  ),
  getEntity: get(oneEntity),
  putEntity: put(
    'An update ends all locks of the entity. The body is ATOM unless its type is application/json.',
    {
      ...named(ENTRY, XML, {
        queue: REQUESTS.queue,
        topic: REQUESTS.topic,
        subscription: REQUESTS.subscription,
      }),
      ...named('application/json', schemaNamed('EntityRequest'), {
        queue: JSON_REQUESTS.queue,
        topic: JSON_REQUESTS.topic,
        subscription: JSON_REQUESTS.subscription,
      }),
    },
    oneEntity,
    'supplementaryAuthorization',
    'dlqSupplementaryAuthorization',
  ),
  deleteEntity: remove,
  getRule: get(oneRule),
  putRule: put(
    'Filters in ATOM: TrueFilter, FalseFilter, SqlFilter, CorrelationFilter. The body is ATOM unless its type is application/json.',
    { ...content(ENTRY, XML, [REQUESTS.rule]), ...json('RuleRequest', ...JSON_REQUESTS.rules) },
    oneRule,
  ),
  deleteRule: remove,
} as const satisfies Readonly<Record<string, OperationDetails>>;
