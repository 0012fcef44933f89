import { type EntityReport, NO_MESSAGES } from '../../../shared/broker/management/management.ts';
import type { StoredRule } from '../../../shared/broker/ports/management.ts';
import {
  type EntityDescription,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';
import type { EntryOptions } from '../atom/entry.ts';
import { NAMESPACE } from '../atom/namespaces.ts';
import { descriptionElement, writeEntity } from '../atom/write-entity.ts';
import { writeRule } from '../atom/write-rule.ts';
import { element } from '../atom/write-xml.ts';
import { entityJson } from '../json/write-entity.ts';
import { printRule } from '../json/write-rule.ts';

// The examples of management, printed by the code that prints real responses.

/** The time of all examples. */
export const AT = Date.UTC(2026, 0, 15, 12);

/** The requests of the document in ATOM. */
export const REQUESTS = {
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

/** An entity of an example with its counts. */
export function exampleReport(name: string, description: EntityDescription): EntityReport {
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
  return { entity, messages: NO_MESSAGES, subscriptions: 0 };
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

/** The entries of answers. */
export const EXAMPLES = {
  queue: exampleEntity('orders', QUEUE_DEFAULTS),
  topic: exampleEntity('events', TOPIC_DEFAULTS),
  subscription: exampleEntity('events/Subscriptions/billing', SUBSCRIPTION_DEFAULTS),
  rule: exampleEntry('events/Subscriptions/billing/Rules/large', writeRule(RULE.rule)),
  namespace: exampleEntry(
    '$namespaceinfo',
    descriptionElement('NamespaceInfo', [element('Name', 'dynabus')]),
  ),
} as const;

/** The same in JSON. */
export const JSON_EXAMPLES = {
  queue: exampleJson('orders', QUEUE_DEFAULTS),
  topic: exampleJson('events', TOPIC_DEFAULTS),
  subscription: exampleJson('events/Subscriptions/billing', SUBSCRIPTION_DEFAULTS),
  rule: JSON.parse(printRule(RULE)) as unknown,
} as const;

/** The requests of the document in JSON. */
export const JSON_REQUESTS = {
  queue: { kind: 'queue', lockDuration: 'PT1M', maxDeliveryCount: 10, requiresSession: false },
  topic: { kind: 'topic', defaultMessageTimeToLive: 'P14D', userMetadata: 'all events' },
  subscription: { deadLetteringOnMessageExpiration: true, status: 'Active', forwardTo: 'orders' },
  rules: [
    { sql: { expression: 'Quantity > 100' }, action: 'SET Size = 1' },
    { correlation: { subject: 'created', properties: { Tier: 'gold' } } },
  ],
} as const;
