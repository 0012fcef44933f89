import type { EntityReport } from '../../../shared/broker/management/management.ts';
import type { StoredRule } from '../../../shared/broker/ports/management.ts';
import {
  type EntityDescription,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import { type EntryOptions, entryDocument, feedDocument, innerEntry } from '../atom/entry.ts';
import { NAMESPACE } from '../atom/namespaces.ts';
import { descriptionElement, writeEntity } from '../atom/write-entity.ts';
import { writeRule } from '../atom/write-rule.ts';
import { element } from '../atom/write-xml.ts';
import { entityJson } from '../json/write-entity.ts';
import { printRule } from '../json/write-rule.ts';
import {
  answer,
  content,
  type Fragment,
  header,
  json,
  type OperationDetails,
  type RefusalStatus,
  requestBody,
} from './components.ts';
import type { Schema } from './schema-parts.ts';
import { schemaNamed } from './schemas.ts';

// The details of the management operations. The code that writes real responses also writes these examples.

const ENTRY = 'application/atom+xml;type=entry;charset=utf-8';
const FEED = 'application/atom+xml;type=feed;charset=utf-8';
const XML = { type: 'string' } as const;
const AT = Date.UTC(2026, 0, 15, 12);

const REQUESTS = {
  queue: entry(
    'QueueDescription',
    '<LockDuration>PT1M</LockDuration><MaxDeliveryCount>10</MaxDeliveryCount>',
  ),
  topic: entry('TopicDescription', '<DefaultMessageTimeToLive>P14D</DefaultMessageTimeToLive>'),
  subscription: entry(
    'SubscriptionDescription',
    '<DeadLetteringOnMessageExpiration>true</DeadLetteringOnMessageExpiration>',
  ),
  rule: entry(
    'RuleDescription',
    '<Filter i:type="SqlFilter"><SqlExpression>Quantity &gt; 100</SqlExpression></Filter>',
  ),
} as const;

function entry(description: string, inner: string): string {
  return `<entry xmlns="${NAMESPACE.atom}"><content type="application/xml"><${description} xmlns="${NAMESPACE.description}" xmlns:i="${NAMESPACE.instance}">${inner}</${description}></content></entry>`;
}

function exampleEntry(path: string, description: EntryOptions['content']): EntryOptions {
  return {
    id: `http://localhost:5300/${path}?api-version=2021-05`,
    title: path.replace(/^.*\/(?:Subscriptions|Rules)\//, ''),
    author: 'dynabus',
    publishedAt: AT,
    updatedAt: AT,
    content: description,
  };
}

function exampleReport(name: string, description: EntityDescription): EntityReport {
  const messages = {
    size: 0,
    active: 0,
    deadLetter: 0,
    scheduled: 0,
    transfer: 0,
    transferDeadLetter: 0,
    isEstimate: false,
  };
  const entity = {
    id: '',
    key: name.toLowerCase(),
    name,
    epoch: 0,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: AT,
    updatedAt: AT,
    description,
  };
  return { entity, messages, subscriptions: 0 };
}

function exampleEntity(name: string, description: EntityDescription): EntryOptions {
  return exampleEntry(
    name,
    writeEntity(exampleReport(name, description), (to) => to),
  );
}

const exampleJson = (name: string, description: EntityDescription) =>
  entityJson(exampleReport(name, description), (to) => to);

const RULE: StoredRule = {
  rule: {
    name: 'large',
    filter: { kind: 'sql', expression: 'Quantity > 100', parameters: {} },
    createdAt: AT,
  },
  version: 0,
  updatedAt: AT,
};

const EXAMPLES = {
  queue: exampleEntity('orders', QUEUE_DEFAULTS),
  topic: exampleEntity('events', TOPIC_DEFAULTS),
  subscription: exampleEntity('events/Subscriptions/billing', SUBSCRIPTION_DEFAULTS),
  rule: exampleEntry('events/Subscriptions/billing/Rules/large', writeRule(RULE.rule)),
  namespace: exampleEntry(
    '$namespaceinfo',
    descriptionElement('NamespaceInfo', [element('Name', 'dynabus')]),
  ),
} as const;

const JSON_EXAMPLES = {
  queue: exampleJson('orders', QUEUE_DEFAULTS),
  topic: exampleJson('events', TOPIC_DEFAULTS),
  subscription: exampleJson('events/Subscriptions/billing', SUBSCRIPTION_DEFAULTS),
  rule: JSON.parse(printRule(RULE)) as unknown,
} as const;

const JSON_REQUESTS = {
  queue: { kind: 'queue', lockDuration: 'PT1M', maxDeliveryCount: 10, requiresSession: false },
  topic: { kind: 'topic', defaultMessageTimeToLive: 'P14D', userMetadata: 'all events' },
  subscription: { deadLetteringOnMessageExpiration: true, status: 'Active', forwardTo: 'orders' },
  rules: [
    { sql: { expression: 'Quantity > 100' }, action: 'SET Size = 1' },
    { correlation: { subject: 'created', properties: { Tier: 'gold' } } },
  ],
} as const;

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

const ANY: readonly RefusalStatus[] = [400, 401, 500, 503, 504];
const ADDRESSING: readonly RefusalStatus[] = [...ANY, 404];
const CHANGING: readonly RefusalStatus[] = [...ADDRESSING, 403, 409, 412];

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
    parameters: ['skip', 'top'],
    answers: { 200: answer('A page of the list.', { ...content(FEED, XML, [feed]), ...shown }) },
    refusals,
  };
}

/** A page of entities in JSON. */
const entities = (kind: keyof typeof entityExamples): Fragment =>
  json('Entities', { entities: [JSON_EXAMPLES[kind]] });

function put(description: string, requests: Fragment, entryContent: Fragment): OperationDetails {
  return {
    description,
    parameters: ['ifMatch'],
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
    answers: { 200: answer('The entity or rule.', entryContent, etag) },
    refusals: ADDRESSING,
  };
}

const remove: OperationDetails = {
  parameters: ['ifMatch'],
  answers: { 200: answer('Deleted.') },
  refusals: CHANGING,
};

/** The details of the management operations, by route name. */
export const MANAGEMENT_OPERATIONS = {
  listEverything: {
    description:
      'Each topic is followed by its subscriptions, each subscription has its rules. `next` is the URL of the next page.',
    parameters: ['after', 'top'],
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
