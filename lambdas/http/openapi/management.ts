import {
  type EntityDescription,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import { type EntryOptions, entryDocument, feedDocument } from '../atom/entry.ts';
import { NAMESPACE } from '../atom/namespaces.ts';
import { descriptionElement, writeEntity } from '../atom/write-entity.ts';
import { writeRule } from '../atom/write-rule.ts';
import { element } from '../atom/write-xml.ts';
import {
  answer,
  content,
  type Fragment,
  header,
  type OperationDetails,
  type RefusalStatus,
  requestBody,
} from './components.ts';

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

function exampleEntity(name: string, description: EntityDescription): EntryOptions {
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
  const report = { entity, messages, subscriptions: 0 };
  return exampleEntry(
    name,
    writeEntity(report, (to) => to),
  );
}

const EXAMPLES = {
  queue: exampleEntity('orders', QUEUE_DEFAULTS),
  topic: exampleEntity('events', TOPIC_DEFAULTS),
  subscription: exampleEntity('events/Subscriptions/billing', SUBSCRIPTION_DEFAULTS),
  rule: exampleEntry(
    'events/Subscriptions/billing/Rules/large',
    writeRule({
      name: 'large',
      filter: { kind: 'sql', expression: 'Quantity > 100', parameters: {} },
      createdAt: AT,
    }),
  ),
  namespace: exampleEntry(
    '$namespaceinfo',
    descriptionElement('NamespaceInfo', [element('Name', 'dynabus')]),
  ),
} as const;

const etag = { ETag: header('The version of the entity or rule, for If-Match.', '"5f0dcd6a.0"') };
const oneEntity = atom(ENTRY, {
  queue: entryDocument(EXAMPLES.queue),
  topic: entryDocument(EXAMPLES.topic),
  subscription: entryDocument(EXAMPLES.subscription),
});
const oneRule = content(ENTRY, XML, [entryDocument(EXAMPLES.rule)]);

function atom(type: string, examples: Readonly<Record<string, string>>): Fragment {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { [type]: { schema: XML, examples: Object.fromEntries(named) } };
}

const ANY: readonly RefusalStatus[] = [400, 401, 500, 503, 504];
const ADDRESSING: readonly RefusalStatus[] = [...ANY, 404];
const CHANGING: readonly RefusalStatus[] = [...ADDRESSING, 403, 409, 412];

function list(
  title: string,
  path: string,
  listed: EntryOptions,
  refusals: readonly RefusalStatus[],
): OperationDetails {
  const self = `http://localhost:5300/${path}?%24skip=0&%24top=100&api-version=2021-05`;
  const feed = feedDocument({ title, self, updatedAt: AT, entries: [listed] });
  return {
    description: 'If there are further entries, the feed has a link `next`.',
    parameters: ['skip', 'top'],
    answers: { 200: answer('A feed of entries.', content(FEED, XML, [feed])) },
    refusals,
  };
}

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
    answers: { 200: answer('The entity or rule, as an entry.', entryContent, etag) },
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
      200: answer(
        'The namespace, as an entry.',
        content(ENTRY, XML, [entryDocument(EXAMPLES.namespace)]),
      ),
    },
    refusals: ANY,
  },
  listQueues: list('Queues', '$Resources/Queues', EXAMPLES.queue, ANY),
  listTopics: list('Topics', '$Resources/Topics', EXAMPLES.topic, ANY),
  listSubscriptions: list(
    'Subscriptions',
    'events/Subscriptions',
    EXAMPLES.subscription,
    ADDRESSING,
  ),
  listRules: list('Rules', 'events/Subscriptions/billing/Rules', EXAMPLES.rule, ADDRESSING),
  getEntity: get(oneEntity),
  putEntity: put(
    'An update ends all locks of the entity.',
    atom(ENTRY, {
      queue: REQUESTS.queue,
      topic: REQUESTS.topic,
      subscription: REQUESTS.subscription,
    }),
    oneEntity,
  ),
  deleteEntity: remove,
  getRule: get(oneRule),
  putRule: put(
    'Filters: TrueFilter, FalseFilter, SqlFilter, CorrelationFilter.',
    content(ENTRY, XML, [REQUESTS.rule]),
    oneRule,
  ),
  deleteRule: remove,
} as const satisfies Readonly<Record<string, OperationDetails>>;
