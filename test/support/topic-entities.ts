import assert from 'node:assert/strict';
import type { Answer } from './api-client.ts';
import { expectStatus, type Received, type TestBroker } from './test-broker.ts';

/** Short functions for topics, subscriptions and rules, over HTTP as ATOM. */

const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
const INSTANCE = 'http://www.w3.org/2001/XMLSchema-instance';
const SCHEMA = 'http://www.w3.org/2001/XMLSchema';
const IF_MATCH = { 'If-Match': '*' };

type Settings = Readonly<Record<string, string>>;

/** A typed value in a filter or an action, as `[type, text]`. */
export type Value = readonly [type: string, text: string];

/** The filter and the action of a rule, as XML. */
export interface RuleXml {
  readonly filter: string;
  readonly action?: string;
}

/** The path of a subscription. */
export function subscription(name: string, topic = 't'): string {
  return `${topic}/subscriptions/${name}`;
}

/** The dead-letter queue of an entity. */
export function deadLettersOf(path: string): string {
  return `${path}/$deadletterqueue`;
}

/** The transfer dead-letter queue of an entity. */
export function transfersOf(path: string): string {
  return `${path}/$transfer/$deadletterqueue`;
}

/** Creates a topic, which must succeed. */
export async function createTopic(
  broker: TestBroker,
  name = 't',
  settings: Settings = {},
): Promise<void> {
  expectStatus(await broker.putEntity(name, 'TopicDescription', settings), 201);
}

/** Replaces the settings of a topic, which must succeed. */
export async function updateTopic(
  broker: TestBroker,
  name: string,
  settings: Settings,
): Promise<void> {
  expectStatus(await broker.putEntity(name, 'TopicDescription', settings, IF_MATCH), 200);
}

/** Requests the creation of a subscription. */
export async function putSubscription(
  broker: TestBroker,
  path: string,
  settings: Settings = {},
): Promise<Answer> {
  return await broker.putEntity(path, 'SubscriptionDescription', settings);
}

/** Replaces the settings of a subscription, which must succeed. */
export async function updateSubscription(
  broker: TestBroker,
  path: string,
  settings: Settings,
): Promise<void> {
  expectStatus(await broker.putEntity(path, 'SubscriptionDescription', settings, IF_MATCH), 200);
}

/** Creates a subscription with one rule, which must succeed. Default: the rule `$Default`. */
export async function createSubscription(
  broker: TestBroker,
  path: string,
  settings: Settings = {},
  rule?: RuleXml,
): Promise<void> {
  const first = rule === undefined ? {} : { DefaultRuleDescription: inner(rule) };
  expectStatus(await putSubscription(broker, path, { ...settings, ...first }), 201);
}

/** Creates many subscriptions that match all messages, a few at a time. */
export async function createSubscriptions(
  broker: TestBroker,
  paths: readonly string[],
): Promise<void> {
  await eachOf(paths, (path) => createSubscription(broker, path));
}

/** Runs an operation for each path, a few at a time. */
export async function eachOf(
  paths: readonly string[],
  work: (path: string) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < paths.length; i += AT_ONCE) {
    await Promise.all(paths.slice(i, i + AT_ONCE).map(work));
  }
}

const AT_ONCE = 15;

/** Creates a subscription with exactly these named rules. */
export async function createRuledSubscription(
  broker: TestBroker,
  path: string,
  rules: Readonly<Record<string, RuleXml>>,
  settings: Settings = {},
): Promise<void> {
  await createSubscription(broker, path, settings);
  await removeRule(broker, path, '$Default');
  for (const [name, rule] of Object.entries(rules)) await createRule(broker, path, name, rule);
}

/** Requests the creation of a rule; with `If-Match`, its replacement. */
export async function putRule(
  broker: TestBroker,
  path: string,
  name: string,
  rule: RuleXml,
  headers: Settings = {},
): Promise<Answer> {
  return await broker.request('PUT', `${path}/rules/${name}`, {
    headers: { 'Content-Type': 'application/atom+xml;type=entry;charset=utf-8', ...headers },
    body: `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><RuleDescription xmlns="${CONNECT}">${inner(rule)}</RuleDescription></content></entry>`,
  });
}

/** Creates a rule, which must succeed. */
export async function createRule(
  broker: TestBroker,
  path: string,
  name: string,
  rule: RuleXml,
): Promise<void> {
  expectStatus(await putRule(broker, path, name, rule), 201);
}

/** Replaces a rule, which must succeed. */
export async function updateRule(
  broker: TestBroker,
  path: string,
  name: string,
  rule: RuleXml,
): Promise<void> {
  expectStatus(await putRule(broker, path, name, rule, IF_MATCH), 200);
}

/** Removes a rule, which must succeed. */
export async function removeRule(broker: TestBroker, path: string, name: string): Promise<void> {
  expectStatus(await broker.request('DELETE', `${path}/rules/${name}`), 200);
}

function inner({ filter, action = '' }: RuleXml): string {
  return `${filter}${action}`;
}

/** A condition in the filter language, with values of its `@parameters`. */
export function sql(expression: string, parameters: Readonly<Record<string, Value>> = {}): string {
  return `<Filter xmlns:i="${INSTANCE}" i:type="SqlFilter">${sqlElements(expression, parameters)}</Filter>`;
}

/** An action in the filter language, with values of its `@parameters`. */
export function set(expression: string, parameters: Readonly<Record<string, Value>> = {}): string {
  return `<Action xmlns:i="${INSTANCE}" i:type="SqlRuleAction">${sqlElements(expression, parameters)}</Action>`;
}

/** A filter that matches every message, and one that matches none. */
export const EVERYTHING = `<Filter xmlns:i="${INSTANCE}" i:type="TrueFilter"><SqlExpression>1=1</SqlExpression></Filter>`;
export const NOTHING = `<Filter xmlns:i="${INSTANCE}" i:type="FalseFilter"><SqlExpression>1=0</SqlExpression></Filter>`;

/** A correlation filter on system properties by their wire names, and on user properties. */
export function correlation(
  system: Settings,
  properties: Readonly<Record<string, Value>> = {},
): string {
  const conditions = Object.entries(system).map(
    ([key, value]) => `<${key}>${escapeXml(value)}</${key}>`,
  );
  return `<Filter xmlns:i="${INSTANCE}" i:type="CorrelationFilter">${conditions.join('')}${values('Properties', properties)}</Filter>`;
}

function sqlElements(expression: string, parameters: Readonly<Record<string, Value>>): string {
  return `<SqlExpression>${escapeXml(expression)}</SqlExpression><CompatibilityLevel>20</CompatibilityLevel>${values('Parameters', parameters)}`;
}

function values(list: string, named: Readonly<Record<string, Value>>): string {
  const pairs = Object.entries(named).map(
    ([key, [type, text]]) =>
      `<KeyValueOfstringanyType><Key>${escapeXml(key)}</Key><Value i:type="x:${type}" xmlns:x="${SCHEMA}">${escapeXml(text)}</Value></KeyValueOfstringanyType>`,
  );
  return pairs.length === 0 ? '' : `<${list}>${pairs.join('')}</${list}>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Receives and deletes all available messages. */
export async function drain(broker: TestBroker, path: string): Promise<readonly Received[]> {
  const all: Received[] = [];
  for (;;) {
    const some = await broker.receiveAndDeleteMany(path, 1000);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

/** Receives and deletes all available messages; returns their bodies in order. */
export async function drainBodies(broker: TestBroker, path: string): Promise<readonly string[]> {
  return (await drain(broker, path)).map(({ body }) => body);
}

/** The message counts of an entity that are not 0, so that a test compares all of them. */
export async function counts(
  broker: TestBroker,
  path: string,
): Promise<Readonly<Record<string, number>>> {
  const answer = await broker.request('GET', path);
  expectStatus(answer, 200);
  const found = [...answer.text.matchAll(/<(?:\w+:)?(\w+)Count(?:\s[^>]*)?>(\d+)</g)].map(
    ([, name = '', text]): readonly [string, number] => [
      name.replace(/Message$/, '') || 'Message',
      Number(text),
    ],
  );
  assert.ok(found.length >= 5, `expected message counts in ${answer.text}`);
  return Object.fromEntries(found.filter(([name, count]) => count > 0 && name !== 'MaxDelivery'));
}

/** The SizeInBytes of an entity. */
export async function sizeOf(broker: TestBroker, path: string): Promise<number> {
  const answer = await broker.request('GET', path);
  expectStatus(answer, 200);
  const text = /<SizeInBytes>(\d+)</.exec(answer.text)?.[1];
  assert.ok(text !== undefined, `expected a size in ${answer.text}`);
  return Number(text);
}

/** Body, dead-letter reason and description of each message, in order. */
export async function reasons(broker: TestBroker, path: string): Promise<readonly unknown[]> {
  return (await broker.peek(path)).map(({ body, properties }) => [
    body,
    properties['DeadLetterReason'],
    properties['DeadLetterErrorDescription'],
  ]);
}
